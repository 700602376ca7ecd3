//! The few system calls that std does not offer: epoll, CPU affinity, another process's CPU clock,
//! the descriptor limit. The only `unsafe` of this crate. It never touches a socket's data.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// The events to watch a descriptor for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interest {
    /// Data can be read, or the stream has ended.
    pub read: bool,
    /// There is room to write.
    pub write: bool,
}

impl Interest {
    /// Only reading.
    pub const READ: Self = Self {
        read: true,
        write: false,
    };
    /// Only writing.
    pub const WRITE: Self = Self {
        read: false,
        write: true,
    };

    fn flags(self) -> u32 {
        let mut flags = 0;
        if self.read {
            flags |= libc::EPOLLIN;
        }
        if self.write {
            flags |= libc::EPOLLOUT;
        }
        flags.cast_unsigned()
    }
}

/// One descriptor that is ready.
#[derive(Debug, Clone, Copy)]
pub struct Ready {
    /// The token the descriptor was added with.
    pub token: usize,
    /// Reading will not block.
    pub read: bool,
    /// Writing will not block.
    pub write: bool,
    /// Both directions are over, or the connection failed.
    pub over: bool,
}

/// Space for the results of [`Epoll::wait`], reused from call to call.
pub struct Events {
    slots: Vec<libc::epoll_event>,
    filled: usize,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events")
            .field("filled", &self.filled)
            .finish_non_exhaustive()
    }
}

impl Events {
    /// Room for `capacity` events at a time.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            slots: vec![libc::epoll_event { events: 0, u64: 0 }; capacity],
            filled: 0,
        }
    }

    /// The descriptors the last wait found ready.
    pub fn iter(&self) -> impl Iterator<Item = Ready> + '_ {
        self.slots[..self.filled].iter().map(|event| {
            let flags = event.events.cast_signed();
            let over = flags & (libc::EPOLLHUP | libc::EPOLLERR) != 0;
            Ready {
                token: usize::try_from(event.u64).unwrap_or(usize::MAX),
                read: flags & libc::EPOLLIN != 0,
                write: flags & libc::EPOLLOUT != 0,
                over,
            }
        })
    }
}

/// A level-triggered epoll instance.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// A new, empty instance.
    #[expect(unsafe_code, reason = "std has no epoll")]
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointer; its result is checked before it becomes an owned descriptor.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: `fd` was just created and has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Watches a descriptor under a token.
    pub fn add(&self, fd: impl AsFd, token: usize, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest)
    }

    /// Changes what a watched descriptor is watched for.
    pub fn change(&self, fd: impl AsFd, token: usize, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest)
    }

    /// Stops watching a descriptor, which stays open.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, Interest::READ)
    }

    #[expect(unsafe_code, reason = "std has no epoll")]
    fn control(
        &self,
        operation: libc::c_int,
        fd: impl AsFd,
        token: usize,
        interest: Interest,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: interest.flags(),
            u64: u64::try_from(token).unwrap_or(u64::MAX),
        };
        let fd = fd.as_fd().as_raw_fd();
        // SAFETY: both descriptors are open for the length of the call and `event` outlives it.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), operation, fd, &raw mut event) })?;
        Ok(())
    }

    /// Waits until something is ready, at most `timeout` (rounded up to milliseconds; zero polls).
    #[expect(unsafe_code, reason = "std has no epoll")]
    pub fn wait(&self, events: &mut Events, timeout: Duration) -> io::Result<()> {
        let millis = timeout.as_micros().div_ceil(1000);
        let millis = libc::c_int::try_from(millis).unwrap_or(libc::c_int::MAX);
        let room = libc::c_int::try_from(events.slots.len()).unwrap_or(libc::c_int::MAX);
        events.filled = 0;
        // SAFETY: the pointer and `room` describe the initialised slots of `events`, borrowed mutably here.
        let found = check(unsafe {
            libc::epoll_wait(self.0.as_raw_fd(), events.slots.as_mut_ptr(), room, millis)
        });
        match found {
            Ok(found) => events.filled = usize::try_from(found).unwrap_or(0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Binds this process (its calling thread, inherited by threads and programs it starts) to some cores.
#[expect(unsafe_code, reason = "std has no affinity")]
pub fn pin_to(cores: &[usize]) -> io::Result<()> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    let size = size_of::<libc::cpu_set_t>();
    if cores.is_empty() || cores.iter().any(|core| *core >= size * 8) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: a zeroed cpu_set_t is the empty set, every core is inside it, and the pointer is valid
    // for `size` bytes during the call.
    check(unsafe {
        for core in cores {
            libc::CPU_SET(*core, set.assume_init_mut());
        }
        libc::sched_setaffinity(0, size, set.as_ptr())
    })?;
    Ok(())
}

/// The CPU time a process has used so far: user and system, all threads, ended ones included.
#[expect(unsafe_code, reason = "std cannot read another process's CPU clock")]
pub fn process_cpu(pid: u32) -> io::Result<Duration> {
    let pid =
        libc::pid_t::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a valid place for the answer.
    let status = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if status != 0 {
        return Err(io::Error::from_raw_os_error(status));
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the answer.
    check(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Ok(Duration::new(
        seconds,
        u32::try_from(time.tv_nsec).unwrap_or(0),
    ))
}

/// Makes a socket that is bound to an address without a port get its port when it connects. The port then
/// needs to be free only for that destination.
#[expect(unsafe_code, reason = "neither std nor socket2 has this option")]
pub fn choose_port_late(socket: impl AsFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    let size = libc::socklen_t::try_from(size_of_val(&on)).unwrap_or(0);
    // SAFETY: the descriptor is open for the length of the call; the pointer and the size describe `on`.
    check(unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size,
        )
    })?;
    Ok(())
}

/// Raises the soft descriptor limit to the hard one and returns it.
#[expect(unsafe_code, reason = "std has no resource limits")]
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid place for the answer.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: `limit` is initialised and outlives the call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })?;
    Ok(limit.rlim_cur)
}

/// Clock ticks per second and bytes per page, the units of `/proc/<pid>/stat` and `statm`.
#[expect(unsafe_code, reason = "std has no sysconf")]
pub fn units() -> (u64, u64) {
    // SAFETY: sysconf takes no pointer; an unknown name gives -1.
    let (ticks, page) = unsafe {
        (
            libc::sysconf(libc::_SC_CLK_TCK),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    (
        u64::try_from(ticks).unwrap_or(100),
        u64::try_from(page).unwrap_or(4096),
    )
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
