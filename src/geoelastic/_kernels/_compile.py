# SPDX-License-Identifier: Apache-2.0
"""`kernel`: compiled by numba when there is enough to do, read by Python until then.

Compiling takes a second or so for every kernel, once on a machine; one report takes Python a tenth of that. So kernels
whose work is bounded by the length of their arrays (`small`) are plain Python for as long as that is quicker: numba is
not even imported. What a kernel does is the same either way, to the bit: its numbers are whole numbers.

Compiled code is made for types of arguments. Two types of the same numbers (an array that may be written and one that
may not; whole numbers of 32 and 64 bits) would be two compilations, so a kernel sees one of them only. Every way of
making an array is compiled, too, for each kernel once more: so numpy makes the arrays that a kernel needs (`room`).
"""

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

#: Seconds that small work may take in Python, in all, before kernels are compiled for it too.
PATIENCE = 0.6
#: Functions called by kernels only need no door for Python, and nothing needs one for C: a third less to compile.
_OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}

#: Seconds of compiling after which somebody is told.
LONG = 1.0

_spent = 0.0
_tell = None
_within = threading.local()  # .plain: Python is inside a kernel


class Kernel:
    """A function of arrays and numbers. `small`: the number of elements up to which Python may read it. `room`: what
    makes of its arguments those that Python need not give, the last ones; other kernels do not call such a kernel."""

    def __init__(self, function, small=0, room=None):
        self._function, self._small, self._room = function, small, room
        self._own = function.__name__.startswith("_")
        functools.update_wrapper(self, function)

    @functools.cached_property
    def compiled(self):
        """The function as numba's dispatcher; compiled for each combination of types when it is first met."""
        return _numba()(no_cpython_wrapper=self._own, **_OPTIONS)(self._function)

    def __call__(self, *arguments):
        if getattr(_within, "plain", False) or self._own:
            return self._function(*arguments)
        room = () if self._room is None else self._room(*arguments)
        if self._small and _spent < PATIENCE and "compiled" not in self.__dict__ and self._is_small(arguments):
            return self._read((*arguments, *room))
        return self.compiled(*[usual(argument) for argument in arguments], *room)

    def _is_small(self, arguments):
        return sum(part.size for part in arguments if isinstance(part, np.ndarray)) <= self._small

    def _read(self, arguments):
        global _spent
        begin = time.thread_time()
        _within.plain = True
        try:
            return self._function(*arguments)
        finally:
            _within.plain = False
            _spent += time.thread_time() - begin


def kernel(function=None, *, small=0, room=None):
    """The decorator: ``@kernel``, or ``@kernel(small=2**16)``."""
    return Kernel(function) if function is not None else functools.partial(Kernel, small=small, room=room)


def compile_at_once() -> None:
    """From now on read nothing in Python: for those who will be asked often and must answer soon."""
    global _spent
    _spent = PATIENCE


def when_compiling(tell: Callable[[], object] | None) -> None:
    """Call `tell` once, when this process has been compiling for a second; None: do not."""
    global _tell
    _tell = tell


def _listener():
    """Adds up the time that numba compiles."""
    from numba.core import event

    class Listener(event.Listener):
        depth, since, total = 0, 0.0, 0.0

        def on_start(self, event):
            if self.depth == 0:
                self.since = time.perf_counter()
            self.depth += 1
            self.look()

        def on_end(self, event):
            self.depth -= 1
            self.look()
            if self.depth == 0:
                self.total += time.perf_counter() - self.since

        def look(self):
            if _tell is not None and self.total + time.perf_counter() - self.since >= LONG:
                tell = _tell
                when_compiling(None)
                tell()

    event.register("numba:compile", Listener())


@functools.cache
def _numba():
    """numba's decorator, which takes a kernel that is called by another for what it is."""
    from numba import njit
    from numba.extending import typeof_impl

    @typeof_impl.register(Kernel)
    def _(value, context):
        return typeof_impl(value.compiled, context)

    _listener()
    return njit


class _Memory:
    """The memory of an array, without the note that it is not to be written: kernels write what they say they do."""

    def __init__(self, array):
        told = array.__array_interface__
        self.__array_interface__ = {**told, "data": (told["data"][0], False)}
        self._array = array


def usual(argument: Any) -> Any:
    """The argument in the one type that stands for all of its kind. Who calls kernels often with an array that may not
    be written asks once: another name for its memory takes as long to make as a short search."""
    if isinstance(argument, np.ndarray):
        return argument if argument.flags.writeable else np.asarray(_Memory(argument))
    if isinstance(argument, np.signedinteger):
        return int(argument)
    return argument
