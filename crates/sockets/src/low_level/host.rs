//! Lookups by name: hosts and network interfaces. Blocks as long as the system's resolver does.
#![expect(
    unsafe_code,
    reason = "no safe interface of the resolver reports why it failed"
)]

use std::ffi::CString;
use std::net::Ipv4Addr;
use std::ptr;

/// The first IPv4 address of a host. The error is a positive error number of libuv, as in `errno` of Node.js, or
/// the system's `errno`.
pub fn host_address(name: &str) -> Result<Ipv4Addr, i32> {
    let name = CString::new(name).map_err(|_| NOT_FOUND)?;
    // SAFETY: all zeros is a valid value: no address, no flags and no pointers.
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    hints.ai_family = libc::AF_INET;
    hints.ai_socktype = libc::SOCK_STREAM;
    let mut list = ptr::null_mut();
    // SAFETY: the name ends with a zero, and the hints and the list pointer are locals.
    let status =
        unsafe { libc::getaddrinfo(name.as_ptr(), ptr::null(), &raw const hints, &raw mut list) };
    if status != 0 {
        return Err(number_of(status));
    }
    let found = first(list);
    if !list.is_null() {
        // SAFETY: the resolver made the list, and nothing of it is used after this.
        unsafe { libc::freeaddrinfo(list) };
    }
    found.ok_or(NOT_FOUND)
}

/// The first IPv4 address in a resolver's list, which may be empty.
fn first(list: *const libc::addrinfo) -> Option<Ipv4Addr> {
    let mut at = list;
    while !at.is_null() {
        // SAFETY: the resolver's list is valid until it is freed.
        let entry = unsafe { &*at };
        if entry.ai_family == libc::AF_INET && !entry.ai_addr.is_null() {
            // SAFETY: an address of this family has this type; it may be unaligned.
            let address = unsafe { entry.ai_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            return Some(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)));
        }
        at = entry.ai_next;
    }
    None
}

/// The index of a network interface.
pub(super) fn interface_number(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends with a zero.
    let number = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (number != 0).then_some(number)
}

fn number_of(status: i32) -> i32 {
    match status {
        libc::EAI_AGAIN => 3001,
        libc::EAI_FAIL => 3004,
        libc::EAI_MEMORY => 3006,
        libc::EAI_SYSTEM => std::io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO),
        _ => NOT_FOUND,
    }
}

/// libuv's `EAI_NONAME`.
const NOT_FOUND: i32 = 3008;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_addresses() {
        assert_eq!(host_address("localhost"), Ok(Ipv4Addr::LOCALHOST));
        assert_eq!(host_address("127.0.0.2"), Ok(Ipv4Addr::new(127, 0, 0, 2)));
        for name in ["", "a\0b", "::1", "-", "a..b"] {
            assert!(host_address(name).is_err(), "{name:?}");
        }
    }
}
