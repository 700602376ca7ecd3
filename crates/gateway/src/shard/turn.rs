//! The turn: after the event loop has handled what was ready, the shard empties its inbox, writes to every dirty
//! connection once, and hands new events over to the workers.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use millrace_core::{ChannelId, Kind, SocketId};
use smallvec::SmallVec;

use super::Shard;
use super::recipients::Local;
use crate::close::CloseReason;
use crate::fault::Fault;
use crate::frame::Message;
use crate::inbox::{Command, Mail, Numbered};
use crate::socket::connection::{Phase, Shared};
use crate::socket::env::Ahead;
use crate::socket::transfers::Owner;

/// Runs turns for as long as the shard lives.
pub(super) async fn turns(shard: Rc<Shard>) {
    let mut registered = false;
    loop {
        let mut woken = false;
        poll_fn(|cx| {
            if !registered {
                registered = true;
                *shard.turn_waker.borrow_mut() = Some(cx.waker().clone());
                shard
                    .hub
                    .inboxes()
                    .set_waker(shard.index, cx.waker().clone());
                return Poll::Ready(());
            }
            if std::mem::replace(&mut woken, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        shard.turn();
    }
}

impl Shard {
    pub(super) fn turn(self: &Rc<Self>) {
        let mut mail = self.mail.borrow_mut();
        self.turn_begins();
        self.hub.faults().hit(Fault::Turn);
        self.tick();
        if self.collect(&mut mail) {
            let Mail { commands, arena } = &mut *mail;
            self.apply_all(commands, arena);
            if self.hub.inboxes().processed(self.index, &mut mail) {
                self.hub.shards_caught_up();
            }
        }
        drop(mail);
        self.read_on();
        self.finish_endings();
        self.resume_publishers();
        self.resume_read_queue();
        self.flush_dirty();
        self.begin_dials();
        self.tell_turn_ends();
        self.hand_over();
        // a worker on the same core has often answered by now: what it has posted needs no wake-up
        if self.hub.inboxes().turn_ends(self.index) {
            self.schedule();
        }
    }

    /// Applies commands in order. Most are small messages, which stay where they are: moving one makes the processor wait
    /// for the copies before it.
    fn apply_all(self: &Rc<Self>, commands: &mut Vec<Command>, arena: &[u8]) {
        let mut index = 0;
        while let Some(command) = commands.get_mut(index) {
            index += 1;
            match *command {
                Command::Small {
                    slot,
                    socket,
                    kind,
                    start,
                    length,
                } => self.small((slot, socket), kind, place(arena, start, length)),
                Command::Publish {
                    channel,
                    except: None,
                    ..
                } => {
                    let rest = commands.get_mut(index - 1..).unwrap_or_default();
                    index += self.apply_run(channel, rest) - 1;
                }
                Command::Numbered(_) => {
                    let rest = commands.get_mut(index - 1..).unwrap_or_default();
                    index += self.apply_numbered(rest).max(1) - 1;
                }
                _ => self.apply(std::mem::replace(command, Command::End), arena),
            }
        }
        commands.clear();
    }

    /// Delivers the publications on one channel that `commands` begin with to its recipients together. Returns their
    /// number.
    fn apply_run(&self, channel: ChannelId, commands: &mut [Command]) -> usize {
        let mut bytes = 0;
        let mut run: SmallVec<[_; 1]> = SmallVec::new();
        for command in commands {
            if bytes >= RUN_BYTES || !is_publication(command, channel) {
                break;
            }
            let command = std::mem::replace(command, Command::End);
            if let Command::Publish { publication, .. } = command {
                bytes += publication.payload().len().max(1);
                run.push(publication);
            }
        }
        self.publish_run(channel, &run);
        run.len()
    }

    /// Delivers a small message.
    #[inline]
    fn small(&self, (slot, socket): (u32, SocketId), kind: Kind, payload: &[u8]) {
        let message = Message {
            kind,
            payload,
            via: None,
        };
        self.direct(slot, socket, |io, ledger| {
            self.append_message((io, ledger), &message, (slot, socket));
        });
    }

    /// Does the same for publications with numbers, which `commands` begin with.
    fn apply_numbered(&self, commands: &mut [Command]) -> usize {
        let mut bytes = 0;
        let mut run: SmallVec<[Box<Numbered>; 1]> = SmallVec::new();
        for command in commands {
            let follows = match command {
                Command::Numbered(next) => {
                    let is_alone = next.except.is_some() && !run.is_empty();
                    !is_alone && run.first().is_none_or(|first| first.joins(next))
                }
                _ => false,
            };
            if bytes >= RUN_BYTES || !follows {
                break;
            }
            if let Command::Numbered(next) = std::mem::replace(command, Command::End) {
                bytes += next.publication.payload().len().max(1);
                run.push(next);
            }
        }
        if let Some(first) = run.first()
            && let Some(last) = first.missed
        {
            self.tell_gap(first.channel, last);
        }
        match &run[..] {
            [one] => {
                let except = one.except.as_deref().unwrap_or_default();
                self.publish(one.channel, None, one, except);
            }
            [first, ..] => self.publish_run(first.channel, &run),
            [] => {}
        }
        run.len()
    }

    fn apply(self: &Rc<Self>, command: Command, arena: &[u8]) {
        match command {
            Command::Small { .. }
            | Command::Direct { .. }
            | Command::Marked(_)
            | Command::Publish { .. }
            | Command::Match(_) => self.apply_message(command, arena),
            Command::Join {
                channel,
                name,
                subscriber,
                slot,
                alias,
                is_known,
            } => {
                let local = Local::new(subscriber, slot, alias);
                self.join(channel, name, local, is_known);
            }
            Command::Leave {
                channel,
                subscriber,
            } => self.leave(channel, subscriber),
            Command::Enter(_)
            | Command::Gap(_)
            | Command::Numbered(_)
            | Command::Page(_)
            | Command::PagesAgain
            | Command::Presence(_)
            | Command::PresenceIsDue => self.apply_terms(command),
            Command::Adopt(incoming) => super::accept::adopt(self, *incoming),
            Command::Listen(listening) => super::accept::listen(self, *listening),
            Command::TellSmall {
                slot,
                socket,
                start,
                length,
            } => self.tell_small((slot, socket), place(arena, start, length)),
            Command::Dial(dialling) => super::dial::dial(self, *dialling),
            Command::StopAccepting(listeners) => self.stop_accepting(&listeners),
            Command::Stop(stopping) => self.stop(stopping),
            Command::End => self.ended.notify_one(),
            Command::Settle(late) => self.settle(&late),
            Command::LookAtInbound => self.look_at_inbound(),
            Command::Transfer { id, step } => match self.transfers.owner(id) {
                Some(Owner::Waiting(owner)) => owner.step(step),
                Some(Owner::Connection { slot, socket }) => {
                    if let Some(connection) = self.find(slot, socket) {
                        self.step(&connection, id, step);
                    }
                }
                None => {}
            },
            Command::WorkerGone { worker } => self.worker_gone(worker),
            Command::WorkerLeaves { worker } => {
                self.close_of_worker(worker, &CloseReason::WORKER_REPLACED);
            }
            Command::Hold { slot, socket, .. }
            | Command::Release { slot, socket, .. }
            | Command::Close { slot, socket, .. }
            | Command::Answer { slot, socket, .. }
            | Command::Tell { slot, socket, .. }
            | Command::Wake { slot, socket }
            | Command::WhenDrained { slot, socket, .. }
            | Command::Call { slot, socket, .. }
            | Command::Stream { slot, socket, .. }
            | Command::Admit { slot, socket, .. } => {
                if let Some(connection) = self.find(slot, socket) {
                    self.apply_for(&connection, command);
                }
            }
        }
    }

    fn worker_gone(self: &Rc<Self>, worker: u32) {
        self.tell_worker_gone(worker);
        self.forget_endings(worker);
        self.close_of_worker(worker, &CloseReason::WORKER_DOWN);
        self.forget_parcel(worker);
    }

    /// Applies a command about a channel with history or presence.
    fn apply_terms(&self, command: Command) {
        match command {
            Command::Enter(enter) => self.enter(&enter),
            Command::Gap(gap) => self.tell_gap(gap.0, gap.1),
            Command::Page(page) => self.page_came(*page),
            Command::PagesAgain => self.pages_again(),
            Command::Presence(batch) => self.tell_presence(&batch),
            Command::PresenceIsDue => self.presence_is_due.notify_one(),
            Command::Numbered(_) => {
                self.apply_numbered(&mut [command]);
            }
            _ => {}
        }
    }

    fn leave(&self, channel: ChannelId, subscriber: SocketId) {
        self.recipients.borrow_mut().leave(channel, subscriber);
        self.stop_reading(channel, subscriber);
    }

    /// Applies a short instruction of a worker.
    fn tell_small(&self, (slot, socket): (u32, SocketId), instruction: &[u8]) {
        if let Some(connection) = self.find(slot, socket) {
            self.tell_in_one_piece(&connection, instruction);
        }
    }

    /// Applies a command that delivers a message.
    fn apply_message(&self, command: Command, arena: &[u8]) {
        match command {
            Command::Small {
                slot,
                socket,
                kind,
                start,
                length,
            } => self.small((slot, socket), kind, place(arena, start, length)),
            Command::Direct {
                slot,
                socket,
                publication,
            } => self.direct(slot, socket, |io, ledger| {
                self.append_direct((io, ledger), &publication, (slot, socket));
            }),
            Command::Marked(marked) => self.direct_marked(&marked),
            Command::Publish {
                channel,
                publication,
                except,
            } => {
                let except = except.as_deref().unwrap_or_default();
                self.publish(channel, None, &publication, except);
            }
            Command::Match(matched) => {
                let except = matched.except.as_deref().unwrap_or_default();
                self.publish(
                    matched.pattern,
                    Some(&matched),
                    &matched.publication,
                    except,
                );
            }
            _ => {}
        }
    }

    /// Writes everything that was appended since the last turn, as far as the kernel accepts it.
    pub(super) fn flush_dirty(&self) {
        self.relayed_all();
        let mut dirty = std::mem::take(&mut *self.dirty.borrow_mut());
        self.turn_comes_to(Ahead::Parts);
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        self.send_together(&dirty);
        for connection in dirty.drain(..) {
            connection.dirty.set(false);
            let io = &mut *connection.io.borrow_mut();
            self.flush(&connection, io);
            if matches!(io.phase, Phase::Gone) && connection.is_watched.get() {
                self.release(&connection, io);
            }
        }
        let mut list = self.dirty.borrow_mut();
        if list.is_empty() {
            *list = dirty;
        }
        drop(list);
        self.relieve();
    }

    /// While all outboxes together take too many bytes, closes this shard's connections with the fullest ones.
    fn relieve(&self) {
        let limit = self.limits.outboxes_total_bytes;
        let ledgers = self.hub.ledgers();
        // the sum of all threads is needed only while something waits on this one
        if self.ledger().held() == 0 || ledgers.held() <= limit {
            return;
        }
        let mut shed = Vec::new();
        while ledgers.held() > limit {
            let Some(fullest) = self.take_fullest() else {
                break;
            };
            self.shed(&fullest, &mut fullest.io.borrow_mut());
            self.backlogs.borrow_mut().remove(fullest.slot);
            shed.push(fullest);
        }
        // each connection is closed once: the rest of its outbox is being written, and is checked again at the end of
        // the next turn
        for connection in shed {
            self.list_backlog(&connection, &connection.io.borrow());
        }
    }

    /// The connection with the largest backlog, which is removed from the list.
    fn take_fullest(&self) -> Option<Shared> {
        let mut backlogs = self.backlogs.borrow_mut();
        let connections = self.connections.borrow();
        let find = |slot: u32| connections.get(slot);
        let backlog = |slot| find(slot).map_or(0, |one| one.io.borrow().outbox.charge());
        let slot = backlogs.first(backlog)?;
        backlogs.remove(slot);
        find(slot).cloned()
    }
}

/// The bytes at a place of a batch's arena.
fn place(arena: &[u8], start: u32, length: u32) -> &[u8] {
    let range = usize::try_from(start)
        .ok()
        .zip(usize::try_from(length).ok());
    range
        .and_then(|(start, length)| arena.get(start..start + length))
        .unwrap_or_default()
}

/// Whether a command is a publication to all recipients of this channel.
fn is_publication(command: &Command, channel: ChannelId) -> bool {
    matches!(command, Command::Publish { channel: of, except: None, .. } if *of == channel)
}

/// Payload bytes after which a run of publications is delivered.
const RUN_BYTES: usize = 64 * 1024;
