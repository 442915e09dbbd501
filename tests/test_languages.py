"""Languages other than English: their words, sentences, stop words and scripts."""

import json
import re
import shutil
from unicodedata import normalize

import pytest
import toy

import tcnlm
from tcnlm.data.dataset import Dataset
from tcnlm.preprocessing.languages import guessed, languages
from tcnlm.preprocessing.text import sentences
from tcnlm.preprocessing.vocabulary import Vocabulary
from tcnlm.runs.run_folder import RunFolder

# Language, text, its sentences of tokens apart by spaces.
TEXTS = [
    (
        "de",
        "Am 3. Oktober kam z.B. Dr. Müller usw. Er blieb. Die Ö. Bahn, d.h. sie.",
        "am 3 . oktober kam z.b. dr. müller usw. . | er blieb . | "
        "die ö. bahn , d.h. sie .",
    ),
    (
        "de",
        "Nach Art. 7, S. 12 gilt ca. 5 z. B. im 2. Bezirk. Hauptstr. 5 am 1. Jänner.",
        "nach art . 7 , s. 12 gilt ca . 5 z. b. im 2 . bezirk . | "
        "hauptstr . 5 am 1 . jänner .",
    ),
    (
        "de",
        "Er wurde 80. Das war im Mai. 5 kamen.",
        "er wurde 80 . | das war im mai . | 5 kamen .",
    ),
    ("de", "Wie geht's in Köln? Schön!", "wie geht's in köln ? | schön !"),
    ("de", normalize("NFD", "Über Köln."), "über köln ."),
    (
        "fr",
        "L’homme qu'il a vu aujourd'hui. M. Dupont va jusqu'à Nîmes.",
        "l' homme qu' il a vu aujourd'hui . | m. dupont va jusqu' à nîmes .",
    ),
    ("it", "C'è l'acqua. Porta la gonna.", "c' è l' acqua . | porta la gonna ."),
    ("tr", "IŞIK İzmir'de.", "ışık izmir'de ."),
    ("ru", "А. С. Пушкин родился в 1799 г. Он", "а. с. пушкин родился в 1799 г. он"),
    ("ar", "كيف حالك؟ نعم، شكرًا؛ حسنا.", "كيف حالك ؟ | نعم ، شكرًا ؛ حسنا ."),
    ("hi", "यह वाक्य है। ठीक, हाँ॥", "यह वाक्य है । | ठीक , हाँ ॥"),
    ("ur", "یہ جملہ ہے۔ دوسرا، ٹھیک", "یہ جملہ ہے ۔ | دوسرا ، ٹھیک"),
]
GERMAN = [
    "Der Richter und die Anwälte waren nicht mit dem Urteil über das Gericht fertig.",
    "Ich habe auch noch ein Schiff auf dem Meer gesehen, aber es war bei den Häfen.",
    "Sie kann das Brot für uns backen, wenn er nur aus der Küche zu ihr kommt.",
    "Als wir am Ufer waren, wurde der Kapitän wie ein König durch die Stadt geführt.",
    "Man hat nach dem Prozess vor allem diese Zeugen oder sich selbst noch gefragt.",
]


@pytest.mark.parametrize(("language", "raw", "expected"), TEXTS)
def test_a_text_has_the_sentences_and_words_of_its_language(language, raw, expected):
    found = " | ".join(" ".join(tokens) for tokens in sentences(raw, language))
    assert found == expected


@pytest.mark.parametrize("code", languages())
def test_every_language_has_a_name_and_stop_words_in_small_letters(code):
    known = languages()[code]
    assert known.name.isalpha()
    assert len(known.stop_words) > 30
    assert "the" in known.stop_words or code != "en"
    assert all(word == word.lower() == normalize("NFC", word) for word in known[1])


@pytest.mark.parametrize("code", languages())
def test_a_language_is_known_by_its_stop_words(code):
    text = dict.fromkeys(languages()[code].stop_words, 1)
    assert guessed(text, "en" if code != "en" else "de") in (code, "ms", "id", "gl")
    assert guessed(text, code) == code


def made(tmp_path, lines, *options, form="text"):
    text = "".join(f"{line}\n" for line in lines)
    return toy.preprocessed(tmp_path, text, *options, form=form)


def test_german_taken_for_english_gets_a_warning_that_names_the_option(
    tmp_path, capsys
):
    status, _ = made(tmp_path, GERMAN * 8)
    said = capsys.readouterr().err
    assert status == 0
    assert "seems to be German, not English" in said
    assert "stop words of German: give --language de" in said


def test_german_has_topic_words_with_umlauts_and_no_stop_words(tmp_path, capsys):
    status, data = made(tmp_path, GERMAN * 8, "--language", "de")
    assert status == 0
    assert "stop words" not in capsys.readouterr().err
    topic_words = Vocabulary.load(data).topic_words
    assert {"anwälte", "häfen", "küche", "kapitän"} <= set(topic_words)
    assert "the" not in topic_words  # English stop words count in every language
    assert not {"der", "und", "über", "für", "wurde"} & set(topic_words)
    settings = json.loads((data / "meta.json").read_text(encoding="utf-8"))["settings"]
    assert (settings["language"], settings["topic_letters"]) == ("de", "unicode")
    assert Dataset(data).vocabulary.language == "de"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "我爱北京天安门。今天天气很好。"),
        ("zh", "我爱北京天安门。今天天气很好。"),
        ("en", "ฉันรักกรุงเทพมหานคร"),
        ("en", "私は東京が大好きです。"),
    ],
)
def test_a_script_without_spaces_is_refused_with_advice(
    tmp_path, capsys, language, line
):
    status, data = made(tmp_path, [line] * 10, "--language", language)
    assert status == 2
    assert not data.exists()
    message = capsys.readouterr().err
    assert re.search("no spaces between its words.* segment it .*--format td", message)


def test_words_that_are_split_already_stay_so_in_any_language(tmp_path):
    records = [{"text": ["L'ami", "不", "北京"]}, {"text": "le 城市 Dr. x"}] * 5
    given = "--language", "zh", "--tokenized"
    lines = map(json.dumps, records)
    status, data = made(tmp_path, lines, *given, form="jsonl")
    assert status == 0
    found = Dataset(data).vocabulary
    assert set(found.words[4:]) == {"L'ami", "不", "北京", "le", "城市", "Dr.", "x"}
    assert "北京" in found.topic_words
    assert "不" not in found.topic_words
    assert found.language == "zh"


def test_data_of_counts_has_no_language_and_none_is_advised(tmp_path, capsys):
    lines = [" ".join(f"{word}:1" for word in line.lower().split()) for line in GERMAN]
    status, data = made(tmp_path, lines * 8, form="counts")
    assert status == 0
    settings = json.loads((data / "meta.json").read_text(encoding="utf-8"))["settings"]
    assert settings["language"] is None
    assert Dataset(data).vocabulary.language == "en"
    said = capsys.readouterr().err
    assert "stop words of German: give a better list to --stop-words" in said
    assert "--language" not in said


def test_a_run_reads_texts_in_the_language_of_its_data(tmp_path):
    run = shutil.copytree(toy.GOLDEN_RUN, tmp_path / "RUN")
    assert RunFolder(run).vocabulary.language == "en"
    config = json.loads((run / "config.json").read_text())
    config["data"]["settings"]["language"] = "fr"
    (run / "config.json").write_text(json.dumps(config))
    (run / "config.sha256").unlink(missing_ok=True)
    found = tcnlm.load_run(run)
    assert found.model.vocabulary.language == "fr"
    assert found._sentences("l'ami") == [["l'", "ami"]]
