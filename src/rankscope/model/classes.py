"""The names of root-cause classes, each with the sentence that ``rankscope explain`` begins with."""

from __future__ import annotations

CLASSES: dict[str, str] = {
    # ranks do not agree
    "collective-missed-by-rank": "Some ranks call a collective that the others do not call, or not as often.",
    "collective-mismatch": "All ranks call a collective, but type, size, dtype, order or root differ.",
    "collective-cycle": "Ranks wait for each other in a cycle over groups; nobody is simply absent.",
    "p2p-order-deadlock": "Sends and receives are posted in an order that cannot complete.",
    "rank-never-joined": "A rank did not arrive at init_process_group, new_group or the rendezvous.",
    "stuck-below-program": "Every member issued the same call and none finished: network, device or library.",
    "straggler-slow-rank": "One rank does long work that the others wait for.",
    "dead-rank": "A rank failed or left, and the others wait for it.",
    "rank-stuck-in-user-code": "One rank stands in code of the job itself: a loop, input(), sleep or a debugger.",
    "implicit-sync-deadlock": "A device-wide synchronisation stands behind a collective whose peers wait for this rank.",
    "device-mapping": "Two ranks use one device, or a group is bound to the wrong device.",
    "not-a-hang-slow": "The job moves, only slowly.",
    # processes
    "process-stopped": "A process is stopped, traced or frozen from outside.",
    "child-dead": "A parent waits for a child process that is gone.",
    "fork-with-threads": "A forked child waits for a lock or a thread that exists only in its parent.",
    "fork-after-device-init": "A device context or registered memory was carried across a fork.",
    "dataloader-worker-deadlock": "A loader worker is stuck or gone, for an unknown or another reason.",
    "queue-pipe-full": "A writer is blocked in a full pipe or queue whose reader waits for the writer.",
    "gil-deadlock": "A thread waits for the GIL while its holder waits for that thread, or never lets go.",
    "lock-order-deadlock": "Threads wait for locks of each other, or one takes a lock it holds.",
    "import-lock": "A thread waits for a module that is being imported by a thread which waits for it.",
    "compile-worker": "A compiler helper process is stuck or gone, and its parent waits.",
    "exit-hang": "The program is over but does not end: destructors, atexit, or a helper that is joined.",
    # files and storage
    "file-lock-stale": "A lock file was left behind by a builder that is gone.",
    "file-lock-unsupported": "The file system cannot lock, and the program keeps trying.",
    "filesystem-stall": "A file system does not answer.",
    # meeting and network
    "rendezvous-port": "The meeting point is taken or left over from another run.",
    "store-timeout": "The key-value store does not answer or its process has gone.",
    "wrong-interface": "A rank announces an address that the others cannot reach.",
    "network-blackhole": "Connections stand, but data does not arrive.",
    "ib-transport-error": "An InfiniBand or RoCE transfer fails.",
    # resources
    "storage-full": "There is no space or quota left.",
    "shm-exhausted": "Shared memory (/dev/shm) is full.",
    "resource-limit": "A limit on files, memory locks or processes is reached.",
    "oom-kill": "The kernel killed a process because memory ran out.",
    # devices, drivers and libraries
    "p2p-iommu-hardware": "Peer-to-peer transfers between devices do not work on this machine (IOMMU, ACS).",
    "gpu-hardware-fault": "A device has failed or fallen off the bus.",
    "gpu-kernel-hang": "A kernel on the device never ends.",
    "cuda-async-error": "A kernel failed earlier; the message only surfaces in the communication library.",
    "driver-not-ready": "The driver or its fabric manager is not ready.",
    "version-bug": "A release of a library has a known defect that this evidence shows.",
    "version-mismatch": "Versions that must be equal differ between ranks or components.",
}
