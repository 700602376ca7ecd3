//! The constants of the platform by name. A constant that the platform lacks is absent.

macro_rules! named {
    ($($name:ident),* $(,)?) => { vec![$((stringify!($name), i32::from(libc::$name))),*] };
}

/// See the module.
pub fn constants() -> Vec<(&'static str, i32)> {
    let mut all = named![
        AF_INET,
        AF_INET6,
        AF_UNIX,
        SOCK_STREAM,
        SOCK_DGRAM,
        SOCK_RAW,
        IPPROTO_TCP,
        IPPROTO_UDP,
        IPPROTO_IPV6,
        SOL_SOCKET,
        SO_REUSEADDR,
        SO_REUSEPORT,
        SO_KEEPALIVE,
        SO_BROADCAST,
        SO_RCVBUF,
        SO_SNDBUF,
        SO_ERROR,
        SO_TYPE,
        TCP_NODELAY,
        IPV6_V6ONLY,
        SHUT_RD,
        SHUT_WR,
        SHUT_RDWR,
        O_NONBLOCK,
        MSG_PEEK,
        MSG_DONTWAIT,
    ];
    all.extend(named![POLLIN, POLLPRI, POLLOUT, POLLERR, POLLHUP, POLLNVAL]);
    #[cfg(not(target_vendor = "apple"))]
    all.extend(named![MSG_NOSIGNAL]);
    #[cfg(target_os = "linux")]
    all.extend(named![
        EPOLLIN,
        EPOLLPRI,
        EPOLLOUT,
        EPOLLERR,
        EPOLLHUP,
        EPOLLRDHUP,
        EPOLLET,
        EPOLLONESHOT,
        EPOLL_CTL_ADD,
        EPOLL_CTL_MOD,
        EPOLL_CTL_DEL,
        POLLRDHUP,
    ]);
    all
}
