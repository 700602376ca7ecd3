//! The descriptors that were given out. A number consists of a slot and a generation and is never the system's
//! descriptor. So a number that was closed or never given out refers to nothing, whatever else the process has open.
//! Owns the open descriptors; makes no calls on them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use socket2::{SockRef, Socket};

use super::address::Family;
use super::fault::Fault;

/// See the module. Shared by all threads of the process.
#[derive(Debug, Default)]
pub struct Table(RwLock<Places>);

#[derive(Debug, Default)]
struct Places {
    all: Vec<Slot>,
    free: Vec<u32>,
}

/// One slot.
#[derive(Debug)]
struct Slot {
    /// How often the slot was used, from 1.
    generation: u32,
    open: Option<Arc<Descriptor>>,
}

/// The descriptor of a number. The system's descriptor is closed when the last call on it returns.
#[derive(Debug)]
pub(super) struct Descriptor {
    system: OwnedFd,
    /// Whether calls return at once. The system's descriptor never blocks.
    returns_at_once: AtomicBool,
    /// The thread with which it is closed.
    owner: usize,
    /// The properties of a socket; `None` for other descriptors.
    socket: Option<Traits>,
}

#[derive(Clone, Copy, Debug)]
struct Traits {
    family: Family,
    is_stream: bool,
}

const NO_SOCKET: Fault = Fault::System(libc::ENOTSOCK);

impl Descriptor {
    pub(super) fn socket(
        owner: usize,
        socket: Socket,
        family: Family,
        is_stream: bool,
    ) -> Result<Self, Fault> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            system: socket.into(),
            returns_at_once: AtomicBool::new(false),
            owner,
            socket: Some(Traits { family, is_stream }),
        })
    }

    #[cfg(target_os = "linux")]
    pub(super) fn epoll(owner: usize, system: OwnedFd) -> Self {
        Self {
            system,
            returns_at_once: AtomicBool::new(false),
            owner,
            socket: None,
        }
    }

    pub(super) fn as_socket(&self) -> Result<SockRef<'_>, Fault> {
        self.socket
            .map(|_| SockRef::from(&self.system))
            .ok_or(NO_SOCKET)
    }

    pub(super) fn family(&self) -> Result<Family, Fault> {
        self.socket.map(|socket| socket.family).ok_or(NO_SOCKET)
    }

    /// Whether it is a byte stream without message boundaries.
    pub(super) fn is_stream(&self) -> bool {
        self.socket.is_some_and(|socket| socket.is_stream)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn is_epoll(&self) -> bool {
        self.socket.is_none()
    }

    pub(super) fn returns_at_once(&self) -> bool {
        self.returns_at_once.load(Ordering::Relaxed)
    }

    pub(super) fn return_at_once(&self) {
        self.returns_at_once.store(true, Ordering::Relaxed);
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.system.as_fd()
    }
}

impl Table {
    /// Removes a number, which no call finds any more and which is never given out again. A call on it in another
    /// thread ends within a slice.
    pub fn close(&self, number: u32) -> Result<(), Fault> {
        // the descriptor is closed after the lock is released
        let closed = self.0.write().take(number);
        closed.map(drop).ok_or(UNKNOWN)
    }

    /// Closes all descriptors that `owner` opened and did not close. Returns their number.
    pub fn close_all_of(&self, owner: usize) -> usize {
        self.take_all_of(owner).len()
    }

    pub(super) fn add(&self, descriptor: Descriptor) -> Result<u32, Fault> {
        self.0.write().add(descriptor)
    }

    pub(super) fn get(&self, number: u32) -> Result<Arc<Descriptor>, Fault> {
        let places = self.0.read();
        places.find(number).map(Arc::clone).ok_or(UNKNOWN)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn has(&self, number: u32) -> bool {
        self.0.read().find(number).is_some()
    }

    fn take_all_of(&self, owner: usize) -> Vec<Arc<Descriptor>> {
        let mut places = self.0.write();
        let is_of = |slot: &Slot| slot.open.as_ref().is_some_and(|open| open.owner == owner);
        let numbers: Vec<u32> = (0..)
            .zip(&places.all)
            .filter(|(_, slot)| is_of(slot))
            .map(|(at, slot)| number_of(at, slot.generation))
            .collect();
        numbers
            .into_iter()
            .filter_map(|number| places.take(number))
            .collect()
    }
}

impl Places {
    fn find(&self, number: u32) -> Option<&Arc<Descriptor>> {
        let slot = self.all.get(usize::try_from(number & SLOTS).ok()?)?;
        slot.open
            .as_ref()
            .filter(|_| number >> SLOT_BITS == slot.generation)
    }

    fn take(&mut self, number: u32) -> Option<Arc<Descriptor>> {
        self.find(number)?;
        let at = number & SLOTS;
        let slot = self.all.get_mut(usize::try_from(at).ok()?)?;
        let taken = slot.open.take();
        // a slot whose generations are used up is not used again
        if slot.generation < GENERATIONS {
            self.free.push(at);
        }
        taken
    }

    fn add(&mut self, descriptor: Descriptor) -> Result<u32, Fault> {
        let full = Fault::System(libc::EMFILE);
        if let Some(at) = self.free.pop() {
            let slot = usize::try_from(at).ok();
            let slot = slot.and_then(|at| self.all.get_mut(at)).ok_or(full)?;
            slot.generation += 1;
            slot.open = Some(Arc::new(descriptor));
            return Ok(number_of(at, slot.generation));
        }
        let at = u32::try_from(self.all.len()).map_err(|_| full)?;
        if at > SLOTS {
            return Err(full);
        }
        self.all.push(Slot {
            generation: 1,
            open: Some(Arc::new(descriptor)),
        });
        Ok(number_of(at, 1))
    }
}

fn number_of(at: u32, generation: u32) -> u32 {
    generation << SLOT_BITS | at
}

const UNKNOWN: Fault = Fault::System(libc::EBADF);

/// The bits for the slot, of the 31 bits of a number.
const SLOT_BITS: u32 = 20;

/// The last slot.
const SLOTS: u32 = (1 << SLOT_BITS) - 1;

/// The last generation.
const GENERATIONS: u32 = (1 << (31 - SLOT_BITS)) - 1;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use socket2::{Domain, Type};

    use super::*;

    fn descriptor(owner: usize) -> Descriptor {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        Descriptor::socket(owner, socket, Family::Unix, true).unwrap()
    }

    #[test]
    fn a_closed_number_is_never_used_again() {
        let table = Table::default();
        let mut seen = HashSet::new();
        // more often than one slot can be used
        for _ in 0..GENERATIONS + 10 {
            let number = table.add(descriptor(1)).unwrap();
            assert!(number < 1 << 31 && number > SLOTS, "{number}");
            assert!(seen.insert(number), "{number} was given out before");
            assert!(table.get(number).is_ok());
            assert_eq!(table.close(number), Ok(()));
            assert_eq!(table.close(number), Err(UNKNOWN));
            assert_eq!(table.get(number).err(), Some(UNKNOWN));
        }
        assert_eq!(table.close_all_of(1), 0);
    }

    #[test]
    fn numbers_that_were_not_given_out_are_unknown() {
        let table = Table::default();
        let number = table.add(descriptor(1)).unwrap();
        let next = number + (1 << SLOT_BITS);
        for other in [0, 1, 2, number + 1, next, number | 1 << 31, u32::MAX] {
            assert_eq!(table.get(other).err(), Some(UNKNOWN), "{other}");
        }
    }

    #[test]
    fn descriptors_are_closed_with_their_owner() {
        let table = Table::default();
        let [one, other] = [1, 2].map(|owner| table.add(descriptor(owner)).unwrap());
        assert_eq!(table.close_all_of(1), 1);
        assert!(table.get(one).is_err() && table.get(other).is_ok());
        assert_eq!(table.close_all_of(1), 0);
    }

    #[test]
    fn a_descriptor_in_use_is_closed_when_the_last_call_returns() {
        let table = Table::default();
        let number = table.add(descriptor(1)).unwrap();
        let in_use = table.get(number).unwrap();
        table.close(number).unwrap();
        assert!(in_use.as_socket().unwrap().local_addr().is_ok());
    }
}
