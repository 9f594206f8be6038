"""What an isolation backend can promise, each promise with the sentence that a person reads.

A backend names the promises that it makes; :mod:`sandbox.self_check` asserts each of them from
inside a live sandbox and by inspecting it from outside.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Promise(StrEnum):
    """One property of a live sandbox."""

    SCRUBBED_ENVIRONMENT = "scrubbed_environment"
    EMPTY_WORKING_DIRECTORY = "empty_working_directory"
    ONLY_THREE_DESCRIPTORS = "only_three_descriptors"
    NO_CORE_DUMPS = "no_core_dumps"
    CPU_LIMIT = "cpu_limit"
    MEMORY_LIMIT = "memory_limit"
    FILE_SIZE_LIMIT = "file_size_limit"
    OPEN_FILES_LIMIT = "open_files_limit"
    PROCESS_LIMIT = "process_limit"
    NO_NEW_PRIVILEGES = "no_new_privileges"
    NO_CAPABILITIES = "no_capabilities"
    UNPRIVILEGED_USER = "unprivileged_user"
    SYSCALL_FILTER = "syscall_filter"
    NO_NETWORK = "no_network"
    READ_ONLY_ROOT = "read_only_root"
    NO_HOST_FILES = "no_host_files"
    BOUNDED_SCRATCH = "bounded_scratch"
    NO_DEVICES = "no_devices"
    PRIVATE_PROCESSES = "private_processes"
    PRIVATE_IPC = "private_ipc"


SENTENCES: Final[dict[Promise, str]] = {
    Promise.SCRUBBED_ENVIRONMENT: "Only PATH, HOME, TMPDIR and LANG are set; nothing of the caller's reaches it.",
    Promise.EMPTY_WORKING_DIRECTORY: "It starts in an empty directory of its own that it can write.",
    Promise.ONLY_THREE_DESCRIPTORS: "No descriptor but standard input, output and error is open.",
    Promise.NO_CORE_DUMPS: "A crash writes no core file.",
    Promise.CPU_LIMIT: "CPU seconds are limited.",
    Promise.MEMORY_LIMIT: "Memory is limited, and none can be held where no counter finds it.",
    Promise.FILE_SIZE_LIMIT: "The size of a file is limited.",
    Promise.OPEN_FILES_LIMIT: "The number of open files is limited.",
    Promise.PROCESS_LIMIT: "The number of processes and threads is limited.",
    Promise.NO_NEW_PRIVILEGES: "No program can gain rights by being executed.",
    Promise.NO_CAPABILITIES: "Every set of capabilities is empty.",
    Promise.UNPRIVILEGED_USER: "It runs as a numeric user without rights and without groups.",
    Promise.SYSCALL_FILTER: "System calls that a renderer does not need are refused.",
    Promise.NO_NETWORK: "There is no network, not even abstract sockets of the host.",
    Promise.READ_ONLY_ROOT: "The root file system cannot be written.",
    Promise.NO_HOST_FILES: "No file of the host's users, and no path of the submission, can be seen.",
    Promise.BOUNDED_SCRATCH: "What can be written is in memory, limited in size, and gone afterwards.",
    Promise.NO_DEVICES: "Only the harmless devices (null, zero, full, random, urandom, tty) are there.",
    Promise.PRIVATE_PROCESSES: "No process outside can be seen or signalled.",
    Promise.PRIVATE_IPC: "System V and POSIX message queues and shared memory are its own.",
}
