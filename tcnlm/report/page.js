"use strict";
// Makes the page's topics and documents explorable; without it all can be read.

const runs = JSON.parse(document.getElementById("exploration").textContent);
const WORDS = 15; // in the panel
const SMALLEST = 1e-12;

function element(name, attributes, text) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Sievert and Shirley (2014), eq. 1
function relevance([, p, lift], weight) {
  return weight * Math.log(p + SMALLEST) + (1 - weight) * Math.log(lift + SMALLEST);
}

function bars(words, weight, colour) {
  const chosen = [...words].sort((a, b) => relevance(b, weight) - relevance(a, weight)).slice(0, WORDS);
  const most = Math.max(...chosen.map(([, p]) => p));
  return chosen.map(([word, p, lift]) => {
    const row = element("div", { class: "bar", title: `p(word | topic) ${p}, lift ${lift}` });
    row.append(element("span", {}, word));
    row.append(element("i", { style: `width:${60 * p / most}%;background:${colour}` }));
    return row;
  });
}

class Panel {
  constructor(prefix, run) {
    Object.assign(this, { prefix, run, topic: null, weight: run.relevance });
    this.place = document.getElementById(`${prefix}panel`);
    this.root = this.place.closest(".explored");
    this.title = element("h3", { "aria-live": "polite" });
    this.list = element("div", { class: "bars" });
    this.place.append(this.title, this.slider(), this.list);
  }

  slider() {
    const label = element("label", {}, "words by relevance, λ ");
    const input = element("input", { type: "range", min: 0, max: 1, step: 0.05, value: this.weight });
    const shown = element("output", {}, this.weight);
    input.addEventListener("input", () => {
      this.weight = Number(input.value);
      shown.textContent = this.weight;
      this.draw();
    });
    label.title = "1: by p(word | topic); 0: by how much likelier than in all topics";
    label.append(input, shown);
    return label;
  }

  choose(topic) {
    this.topic = String(topic);
    for (const mark of this.root.querySelectorAll("[data-topic]")) {
      mark.classList.toggle("chosen", mark.dataset.topic === this.topic);
    }
    this.draw();
    this.documents();
  }

  draw() {
    if (this.topic === null) return;
    this.title.textContent = `Topic ${this.topic}: ${this.run.labels[this.topic]}`;
    this.list.replaceChildren(...bars(this.run.words[this.topic], this.weight, this.run.colours[this.topic]));
  }

  // The documents with most of the topic come first.
  documents() {
    const list = document.getElementById(`${this.prefix}documents`);
    if (!list) return;
    const share = (item) => (this.run.documents[item.dataset.document] || {})[this.topic] || 0;
    const items = [...list.querySelectorAll("details")].sort((a, b) => share(b) - share(a));
    list.append(...items);
    items.forEach((item, place) => { item.open = place === 0; });
  }
}

function sortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = element("button", { type: "button", title: "sort" }, head.textContent);
    head.replaceChildren(button);
    let down = false;
    button.addEventListener("click", () => {
      down = !down;
      const value = (row) => row.cells[column].textContent.replaceAll(",", "");
      const order = (a, b) => {
        const [x, y] = [value(a), value(b)];
        const numbers = Number(x) - Number(y);
        return (Number.isNaN(numbers) ? x.localeCompare(y) : numbers) * (down ? -1 : 1);
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
    });
  });
}

// A field that hides what does not hold its words.
function searchable(before, items, label) {
  const input = element("input", { type: "search", placeholder: label, "aria-label": label });
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase().split(" ").filter(Boolean);
    for (const item of items()) {
      const text = item.textContent.toLowerCase();
      item.hidden = !wanted.every((word) => text.includes(word));
    }
  });
  before.before(input);
}

function explore(prefix, run) {
  const panel = new Panel(prefix, run);
  const table = panel.root.querySelector("table.topics");
  sortable(table);
  searchable(table, () => table.tBodies[0].rows, "search topics");
  const list = document.getElementById(`${prefix}documents`);
  if (list) searchable(list, () => list.children, "search documents");
  for (const mark of panel.root.querySelectorAll("[data-topic]")) {
    mark.addEventListener("click", () => panel.choose(mark.dataset.topic));
  }
  panel.choose(table.tBodies[0].rows[0].dataset.topic);
}

for (const [prefix, run] of Object.entries(runs)) explore(prefix, run);
