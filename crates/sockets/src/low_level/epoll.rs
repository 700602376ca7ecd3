//! `epoll`. Events have the numbers of the table instead of the system's descriptors.

use std::mem::MaybeUninit;
use std::time::Instant;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::fault::Fault;
use super::table::{Descriptor, Table};
use super::wait::{NAP, Turn, left_until, slice_of};

impl Table {
    /// `epoll_create1`, on behalf of the thread `owner`.
    pub fn epoll_create(&self, owner: usize, flags: i32) -> Result<u32, Fault> {
        let flags = CreateFlags::from_bits_retain(flags.cast_unsigned());
        let created = epoll::create(flags | CreateFlags::CLOEXEC)?;
        self.add(Descriptor::epoll(owner, created))
    }

    /// `epoll_ctl`.
    pub fn epoll_control(
        &self,
        number: u32,
        operation: i32,
        of: u32,
        events: u32,
    ) -> Result<(), Fault> {
        let epoll = self.epoll(number)?;
        let other = self.get(of)?;
        let data = EventData::new_u64(of.into());
        let events = EventFlags::from_bits_retain(events);
        Ok(match operation {
            libc::EPOLL_CTL_ADD => epoll::add(&*epoll, &*other, data, events),
            libc::EPOLL_CTL_MOD => epoll::modify(&*epoll, &*other, data, events),
            libc::EPOLL_CTL_DEL => epoll::delete(&*epoll, &*other),
            _ => Err(Errno::INVAL),
        }?)
    }

    /// `epoll_wait`, for at most `most` events and `millis`, or without end if that is negative. Returns
    /// [`Turn::Waiting`] if a slice has ended and time is left.
    pub fn epoll_wait(
        &self,
        number: u32,
        most: i32,
        millis: i32,
    ) -> Result<Turn<Vec<(u32, u32)>>, Fault> {
        let epoll = self.epoll(number)?;
        let most = usize::try_from(most).unwrap_or(0).min(MOST_EVENTS);
        if most == 0 {
            return Err(Fault::System(libc::EINVAL));
        }
        let (time, whole) = slice_of(millis);
        let end = Instant::now() + time;
        let mut room = [MaybeUninit::<Event>::uninit(); MOST_EVENTS];
        let room = room.get_mut(..most).unwrap_or_default();
        loop {
            let events = match epoll::wait(&*epoll, &mut *room, Some(&left_until(end))) {
                Ok((events, _)) => events,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let nothing = events.is_empty();
            let told: Vec<(u32, u32)> = events
                .iter()
                .filter_map(|event| {
                    // the event may be unaligned
                    let Event { flags, data, .. } = *event;
                    let number = u32::try_from(data.u64()).ok()?;
                    // a call in another thread may still hold a closed descriptor
                    self.has(number).then_some((number, flags.bits()))
                })
                .collect();
            if !told.is_empty() {
                return Ok(Turn::Done(told));
            }
            if nothing || Instant::now() >= end {
                return Ok(if whole {
                    Turn::Done(told)
                } else {
                    Turn::Waiting
                });
            }
            std::thread::sleep(NAP);
        }
    }

    fn epoll(&self, number: u32) -> Result<std::sync::Arc<Descriptor>, Fault> {
        let descriptor = self.get(number)?;
        if descriptor.is_epoll() {
            Ok(descriptor)
        } else {
            Err(Fault::System(libc::EINVAL))
        }
    }
}

/// The most events that one call returns.
const MOST_EVENTS: usize = 1024;
