"""Take the pictures in docs/ of our pages anew, by chromium: pictures.py RUN [DATED].

Of the evaluated RUN its report.html and what `tcnlm serve` shows; of DATED, a RUN on
documents with dates, report-time.png.
"""

import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tcnlm.serving.model import Served, find  # noqa: E402
from tcnlm.serving.server import Server  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
MAP = "document.querySelector('.map').previousElementSibling.previousElementSibling"
TIME = "[...document.querySelectorAll('h2')].find((e) => e.innerText.includes('time'))"
OF_RUN = {  # name: width, height, and what stands at the top
    "report": (1044, 1549, "document.body"),
    "report-topics": (1184, 860, MAP),
    "report-phone": (390, 718, "document.body"),
}
OF_DATES = {"report-time": (1000, 870, TIME)}
FIRST = """for (let e = {}; e !== document.body; e = e.parentNode)
  while (e.previousElementSibling) e.previousElementSibling.remove();"""
FRAME = '<body style="margin: 0"><iframe src="{}" width={} height={} frameborder=0>'
CLICKS = """<script>(async () => {
  const all = (query) => [...document.querySelectorAll(query)];
  const until = async (query) => {
    while (!all(query).length) await new Promise((again) => setTimeout(again, 20));
  };
  await until("#topics button");
  all("#topics button")[1].click();
  all("#write button")[0].click();
  await until("#sentences li");
  all("#text")[0].value = "The army moved into the city. Israel has not commented.";
  all("#read button")[0].click();
})();</script></body>"""


def take(name: str, address: str, width: int, height: int) -> None:
    """Write docs/NAME.png; a window narrower than 500 pixels needs a frame."""
    with tempfile.TemporaryDirectory() as folder:
        file, frame = Path(folder, "picture.png"), Path(folder, "frame.html")
        frame.write_text(FRAME.format(address, width, height))
        command = [BROWSER, "--headless", "--no-sandbox", "--hide-scrollbars"]
        command += ["--virtual-time-budget=20000", f"--screenshot={file}"]
        command += [f"--window-size={max(width, 500)},{height}"]
        command += [address if width > 500 else str(frame)]
        subprocess.run(command, check=True, capture_output=True)
        picture = Image.open(file).convert("RGB").crop((0, 0, width, height))
        picture.quantize(128).save(ROOT / "docs" / f"{name}.png", optimize=True)


def report(run: Path, pictures: dict[str, tuple[int, int, str]]) -> None:
    """Take pictures of a RUN's page."""
    page = (run / "report.html").read_text()
    for name, (width, height, top) in pictures.items():
        with tempfile.NamedTemporaryFile("w", suffix=".html") as copy:
            first = page.replace(
                "</body>", f"<script>{FIRST.format(top)}</script></body>"
            )
            print(first, file=copy, flush=True)
            take(name, copy.name, width, height)


if __name__ == "__main__":
    if not BROWSER:
        sys.exit("error: needs chromium (apt-get install chromium)")
    run, *dated = map(Path, sys.argv[1:])
    for each, pictures in [(run, OF_RUN), *((d, OF_DATES) for d in dated)]:
        report(each, pictures)
    with Server("127.0.0.1", 0) as server:
        server.served = Served(find(run))
        server.template = server.template.replace("</body>", CLICKS)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        take("serve", server.address, 1200, 1240)
