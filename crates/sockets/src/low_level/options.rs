//! Socket options whose value is an integer.
#![expect(unsafe_code, reason = "no library accepts an option by its number")]

use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use libc::socklen_t;

use super::fault::Fault;
use super::table::Table;

impl Table {
    /// `setsockopt` with an integer.
    pub fn set_option(&self, number: u32, level: i32, name: i32, value: i32) -> Result<(), Fault> {
        let descriptor = self.get(number)?;
        let socket = descriptor.as_socket()?;
        refuse(level, name)?;
        // SAFETY: the descriptor is open while it is borrowed, and the system reads exactly the bytes of `value`.
        let status = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                level,
                name,
                ptr::from_ref(&value).cast(),
                INTEGER,
            )
        };
        succeeded(status)
    }

    /// `getsockopt` of an integer.
    pub fn option(&self, number: u32, level: i32, name: i32) -> Result<i32, Fault> {
        let descriptor = self.get(number)?;
        let socket = descriptor.as_socket()?;
        refuse(level, name)?;
        let mut value = [0_u8; ROOM];
        let mut length = INTEGER;
        // SAFETY: the descriptor is open while it is borrowed, and the buffer is larger than the requested length.
        let status = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                level,
                name,
                value.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        succeeded(status)?;
        Ok(match (length, value) {
            // some systems have options of one byte
            (1, [byte, ..]) => i32::from(byte),
            (_, [a, b, c, d, ..]) => i32::from_ne_bytes([a, b, c, d]),
        })
    }
}

fn succeeded(status: i32) -> Result<(), Fault> {
    if status == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error().into())
}

/// Refused options of level `SOL_SOCKET`: those that take or return the system's descriptors, and those whose length is
/// not counted in bytes.
#[cfg(target_os = "linux")]
const REFUSED: &[i32] = &[
    libc::SO_ATTACH_FILTER,
    libc::SO_ATTACH_BPF,
    libc::SO_ATTACH_REUSEPORT_CBPF,
    libc::SO_ATTACH_REUSEPORT_EBPF,
    77, // SO_PEERPIDFD
];
#[cfg(not(target_os = "linux"))]
const REFUSED: &[i32] = &[];

fn refuse(level: i32, name: i32) -> Result<(), Fault> {
    if level == libc::SOL_SOCKET && REFUSED.contains(&name) {
        return Err(Fault::System(libc::ENOPROTOOPT));
    }
    Ok(())
}

const INTEGER: socklen_t = 4;

/// Larger than an integer, in case an option writes more than requested.
const ROOM: usize = 256;
