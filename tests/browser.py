"""A page in a real browser, where there is one."""

import json
import re
import shutil
import subprocess
from html import unescape

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FRAME = """<pre id="said"></pre><script>
addEventListener("message", (e) => {{ said.textContent = e.data; }});
</script>
<iframe src="page.html" style="width: {width}px; height: 900px; border: 0"></iframe>"""


def in_browser(page, expression, folder, width=1200):
    """Return what a script's expression is in a page, by JSON; width: the window's.

    A window that dumps its page is 500 pixels wide at the least: so it is in a frame.
    """
    said = f"parent.postMessage(JSON.stringify({expression}), '*')"
    asked = f"<script>//<![CDATA[\n{said}//]]></script></body>"
    (folder / "page.html").write_text(page.replace("</body>", asked))
    (folder / "frame.html").write_text(FRAME.format(width=width))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu"]
    command += ["--hide-scrollbars", "--virtual-time-budget=3000", "--dump-dom"]
    command += [f"file://{folder / 'frame.html'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="said">(.+?)</pre>', done.stdout)
    assert found, done.stderr
    return json.loads(unescape(found[1]))
