"""Native functions that wait for the interpreter, a lock, a thread, a file or a peer: C library, runtimes, interpreter."""

from __future__ import annotations

TABLE = """
gil: take_gil PyEval_AcquireThread PyEval_RestoreThread PyEval_AcquireLock PyGILState_Ensure
    _PyThreadState_Attach pybind11::gil_scoped_acquire* pybind11::detail::gil_scoped_acquire* torch::PyGILGuard*
    nanobind::gil_scoped_acquire* __pyx_gilstate_ensure __Pyx_PyGILState_Ensure __Pyx_GilEnsure tstate_wait_attach
    pyo3::gil::GILGuard*
lock: __psynch_mutexwait _pthread_mutex_firstfit_lock_wait _pthread_mutex_firstfit_lock_slow __lll_lock_wait
    __lll_lock_wait_private __GI___lll_lock_wait ___pthread_mutex_lock __pthread_mutex_lock
    __GI___pthread_mutex_lock pthread_mutex_lock __pthread_mutex_lock_full __pthread_mutex_cond_lock
    futex_abstimed_wait std::mutex::lock std::lock_guard* std::unique_lock* SpinLockDelay
    AbslInternalSpinLockDelay* absl::base_internal::SpinLock* SpinLock::SlowLock base::internal::SpinLockDelay
    je_malloc_mutex_lock_slow malloc_mutex_lock_slow __kmp_lock_suspend_mx __kmp_acquire_bootstrap_lock
    __kmp_acquire_queuing_lock __kmp_acquire_ticket_lock PyThread_acquire_lock_timed PyThread_acquire_lock
    acquire_timed lock_PyThread_acquire_lock _enter_buffered_busy _PyMutex_LockTimed PyMutex_Lock
    _PyRWMutex_Lock pthread_rwlock_wrlock pthread_rwlock_rdlock __pthread_rwlock_wrlock __pthread_rwlock_rdlock
    ___pthread_rwlock_wrlock ___pthread_rwlock_rdlock __GI___pthread_rwlock_wrlock __GI___pthread_rwlock_rdlock
    __pthread_rwlock_wrlock_full* __pthread_rwlock_rdlock_full* __lll_wrlock* __lll_rdlock* lll_mutex_lock_optimized
    std::sys::unix::locks::* std::sys::pal::unix::locks::* std::sys::sync::rwlock* std::sys_common::mutex*
    parking_lot::raw_rwlock* QReadWriteLock::lock* QReadWriteLock::tryLock* g_mutex_lock g_mutex_lock_slowpath
    g_rec_mutex_lock g_rec_mutex_lock_slowpath g_rw_lock_writer_lock g_rw_lock_reader_lock uv_mutex_lock
    uv_rwlock_wrlock uv_rwlock_rdlock lockInternal_helper
    absl::Mutex::Lock* absl::lts* parking_lot::raw_mutex* std::sys::sync::mutex* __tsan_mutex* arena_get2*
    _dl_add_to_namespace_list _os_unfair_lock_lock_slow os_unfair_lock_lock _dispatch_once_wait H5TS_mutex_lock
    QMutex::lock QBasicMutex::lockInternal QRecursiveMutex::lock nsync_mu_lock* gpr_mu_lock
    _IO_flockfile __flockfile flockfile boost::mutex::lock boost::unique_lock* boost::recursive_mutex::lock
    std::recursive_mutex::lock std::shared_mutex::lock* std::shared_timed_mutex::lock* std::__1::mutex::lock
    folly::SharedMutex* RtlEnterCriticalSection RtlpEnterCriticalSection* AcquireSRWLockExclusive
    spin_mutex::lock pthread_spin_lock ucs_spin_lock* _L_lock_* _PyParkingLot_Park parking_lot_core::parking_lot*
    rtld_lock_default_lock_recursive
condition: __psynch_cvwait _pthread_cond_wait pthread_cond_wait pthread_cond_timedwait __pthread_cond_wait ___pthread_cond_wait
    __pthread_cond_timedwait ___pthread_cond_timedwait pthread_cond_clockwait ___pthread_cond_clockwait64
    ___pthread_cond_timedwait64 __pthread_cond_wait_common futex_wait_cancelable __futex_abstimed_wait_common
    __futex_abstimed_wait_common64 __futex_abstimed_wait_cancelable64 std::condition_variable::wait* sem_wait
    sem_timedwait do_futex_wait __new_sem_wait_slow __new_sem_wait_slow64 std::__future_base* rayon_core::latch*
    rayon_core::registry::Registry::in_worker_cold std::thread::park gomp_team_barrier_wait_end
    gomp_barrier_wait_end do_wait gomp_simple_barrier_wait __kmp_hyper_barrier_release __kmp_fork_barrier
    __kmp_suspend_64 __kmp_suspend_template* __kmp_join_barrier __kmp_hyper_barrier_gather
    c10::ivalue::Future::wait* c10::ThreadPool* at::internal::invoke_parallel* at::parallel_for* GOMP_parallel
    __kmp_fork_call gpr_cv_wait nsync_cv_wait* absl::CondVar* _umtx_op __ulock_wait __ulock_wait2 sem_clockwait*
    std::__1::condition_variable* boost::condition_variable* Eigen::EventCount* crossbeam_channel::*
    tokio::runtime::park* tokio::park* std::sync::mpsc* NtWaitForAlertByThreadId NtWaitForSingleObject
    ZwWaitForSingleObject WaitForSingleObject* NtWaitForMultipleObjects SleepConditionVariable* exec_blas
    exec_blas_async_wait arrow::Future* gomp_barrier_wait gomp_team_end GOMP_parallel_end GOMP_barrier do_spin
    __kmp_wait_template* __kmp_wait_4* cv::parallel_for_*
child: waitpid __waitpid wait4 __wait4 __GI___wait4 waitid pthread_join __pthread_timedjoin_ex
    __pthread_clockjoin_ex std::thread::join pthread_timedjoin_np os_waitpid
sleep: nanosleep clock_nanosleep __clock_nanosleep clock_nanosleep@* usleep sleep time_sleep pysleep
    __GI___nanosleep __nanosleep
socket: accept accept4 connect __connect recv recvfrom recvmsg __libc_recv __recv send sendmsg __libc_send poll
    __poll __GI___poll ppoll select __select __GI___select epoll_wait epoll_pwait select_poll_poll
    select_epoll_poll select_select sock_recv sock_accept sock_recv_into internal_select getaddrinfo
    __res_context_send send_dg
storage: fsync __fsync fdatasync openat __openat open64 __open64 pread64 __pread64 pwrite64 fstat statx
    __xstat64 getdents64 io_getevents syncfs rename unlink
pipe: read __read __GI___read __libc_read write __write __GI___write __libc_write os_read os_write _Py_read
    _Py_write
file-lock: flock __flock fcntl_flock fcntl_lockf lockf sqlite3InvokeBusyHandler btreeInvokeBusyHandler
    sqliteDefaultBusyCallback
input: builtin_input PyOS_Readline readline_until_enter_or_signal call_readline my_fgets
"""
