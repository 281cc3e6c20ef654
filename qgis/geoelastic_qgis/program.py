# SPDX-License-Identifier: Apache-2.0
"""The command line, called: found, run with its progress shown, stopped if QGIS asks for it, and its answer read."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from queue import Empty, Queue
from threading import Thread

from processing.core.ProcessingConfig import ProcessingConfig
from qgis.core import QgsProcessingException

SETTING = "GEOELASTIC_COMMAND"
#: What QGIS tells its own Python; another Python must not hear it.
_OURS = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BAR = re.compile(r"^(?P<step>\D+?)\s*[━╸╺ ]*\s(?P<percent>\d+)%")
CHECK_FAILED = 1


def find_command():
    """The path of geoelastic: that of the settings (Processing, geoelastic), of the environment, or on the PATH."""
    named = ProcessingConfig.getSetting(SETTING) or os.environ.get(SETTING)
    found = shutil.which(named or "geoelastic")
    if found is None:
        raise QgsProcessingException(
            f"'{named or 'geoelastic'}' is not there: install it in an environment of its own "
            "(pipx install 'geoelastic[all]'), and name the command under Settings, Options, Processing, geoelastic"
        )
    return found


def run(arguments, feedback, *, may_fail=False):
    """What `geoelastic ARGUMENTS --json` answers. `may_fail`: a check that fails has an answer too."""
    environment = {name: value for name, value in os.environ.items() if name not in _OURS}
    environment.update(FORCE_COLOR="1", COLUMNS="120")  # bars that move although nobody looks at a terminal
    command = [find_command(), *map(str, arguments), "--json", "--progress"]
    with tempfile.TemporaryFile() as answer:
        child = subprocess.Popen(command, stdout=answer, stderr=subprocess.PIPE, env=environment)
        try:
            told = _follow(child, feedback)
        finally:
            if child.poll() is None:
                child.terminate()  # what it was writing has a temporary name and is swept by the next run
            code = child.wait()
        if feedback.isCanceled():
            raise QgsProcessingException("stopped")
        if code != 0 and not (may_fail and code == CHECK_FAILED):
            raise QgsProcessingException(told or f"geoelastic ended with exit code {code}")
        answer.seek(0)
        return json.loads(answer.read())


def _follow(child, feedback):
    """Show what the command says on the way; the last line that is not a bar."""
    lines, last, step = Queue(), "", ""
    reader = Thread(target=_read, args=(child.stderr, lines), daemon=True)
    reader.start()
    while not feedback.isCanceled():
        try:
            line = lines.get(timeout=0.2)
        except Empty:
            continue
        if line is None:
            break
        bar = _BAR.match(line)
        if bar:
            if bar["step"].strip() != step:
                step = bar["step"].strip()
                feedback.setProgressText(step)
            feedback.setProgress(int(bar["percent"]))
        elif line:
            last = line
            feedback.pushInfo(line)
    return last


def _read(stream, lines):
    """Lines of a stream that also moves back to the beginning of one; None at its end."""
    rest = b""
    while piece := os.read(stream.fileno(), 4096):
        *whole, rest = re.split(rb"[\r\n]", rest + piece)
        for line in whole:
            lines.put(_COLOURS.sub("", line.decode("utf-8", "replace")).strip())
    lines.put(_COLOURS.sub("", rest.decode("utf-8", "replace")).strip())
    lines.put(None)
