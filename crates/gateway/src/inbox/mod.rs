//! The inboxes of the I/O shards: commands from any thread, in one order per shard, with a limit in bytes. Appending
//! never blocks on I/O. Waking is separate, so that many posts share one wake-up. Over 400 lines because posting and
//! taking keep the same counts under the same lock.

mod bell;
mod command;

use std::task::Waker;
use std::{fmt, slice};

use millrace_core::{Kind, Route, ShardIndex, ShardSet};

use crate::limits::MAX_SHARDS;
use crate::sync::{AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering, Padded};
use bell::Bell;
pub(crate) use command::{
    AliasOf, Command, Enter, MarkedDirect, Matched, Numbered, Page, WantedPage,
};

/// What a shard takes out at once.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) commands: Vec<Command>,
    pub(crate) arena: Vec<u8>,
}

/// A text for one socket, to be posted to an inbox.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub(crate) route: Route,
    pub(crate) payload: &'a [u8],
}

impl Text<'_> {
    /// What it takes in an inbox, in bytes.
    fn charge(&self) -> usize {
        self.payload.len() + COMMAND_CHARGE
    }
}

impl Mail {
    /// Appends texts. The commands are made in place, because the processor waits if one that was just made is moved.
    fn extend(&mut self, texts: &[Text<'_>]) {
        let arena = &mut self.arena;
        let commands = texts.iter().map(|text| Command::Small {
            slot: text.route.slot,
            socket: text.route.socket,
            kind: Kind::Text,
            start: append(arena, text.payload),
            length: u32::try_from(text.payload.len()).unwrap_or_default(),
        });
        self.commands.extend(commands);
    }

    /// Gives memory back that is more than twice what was needed last.
    fn trim(&mut self, needed: Needed) {
        self.commands
            .shrink_to(FEW_COMMANDS.max(2 * needed.commands));
        self.arena.shrink_to(SMALL_ARENA.max(2 * needed.arena));
    }

    /// Drops commands that were not taken, and buffers that are too large to be kept.
    #[inline(never)]
    fn shrink(&mut self) {
        self.commands.clear();
        if self.arena.capacity() > KEPT_ARENA {
            self.arena = Vec::new();
        }
        if self.commands.capacity() > KEPT_COMMANDS {
            self.commands = Vec::new();
        }
    }

    /// Copies a payload into the arena; returns its place.
    pub(crate) fn place(&mut self, payload: &[u8]) -> u32 {
        append(&mut self.arena, payload)
    }
}

impl State {
    /// Appends those of the texts that fit into an inbox with so many bytes; returns their bytes, and the number of the
    /// others.
    #[cold]
    fn extend_to(&mut self, bound: usize, bytes: usize, texts: &[Text<'_>]) -> (usize, u64) {
        let (mut charge, mut refused) = (0, 0);
        for text in texts {
            let now = bytes + charge;
            if !self.open || (now > 0 && now + text.charge() > bound) {
                refused += 1;
            } else {
                charge += text.charge();
                self.mail.extend(slice::from_ref(text));
            }
        }
        (charge, refused)
    }
}

/// Copies a payload to the end of an arena; returns its place.
fn append(arena: &mut Vec<u8>, payload: &[u8]) -> u32 {
    let start = u32::try_from(arena.len()).expect("the inbox is bounded below 4 GiB");
    arena.extend_from_slice(payload);
    start
}

/// The inboxes of all shards that a gateway can have; those of shards that do not run stay empty.
pub(crate) struct Inboxes {
    all: Box<[Padded<Inbox>]>,
    /// The number of inboxes above their high-water mark.
    above: AtomicUsize,
    /// One bit per shard that is to be woken when no inbox is above it.
    awaiting: AtomicU64,
    /// The limit of each inbox in bytes, set at start.
    bound: AtomicUsize,
    /// The high-water mark of each inbox in bytes.
    high_water: AtomicUsize,
}

struct Inbox {
    state: Mutex<State>,
    bell: Bell,
    /// Bytes that were taken out and are not processed yet.
    processing: AtomicUsize,
}

#[derive(Default)]
struct State {
    mail: Mail,
    bytes: usize,
    above: bool,
    open: bool,
    posted: u64,
    refused: u64,
    /// The most that a turn has taken since the last trim, if that was much.
    needed: Needed,
}

/// What the mail of one turn takes.
#[derive(Clone, Copy, Default)]
struct Needed {
    commands: usize,
    arena: usize,
}

impl Needed {
    #[cold]
    fn note(&mut self, mail: &Mail) {
        self.commands = self.commands.max(mail.commands.len());
        self.arena = self.arena.max(mail.arena.len());
    }
}

/// Deliveries of one inbox since the gateway was made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Posted {
    pub(crate) deliveries: u64,
    pub(crate) refused: u64,
}

impl fmt::Debug for Inboxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inboxes").finish_non_exhaustive()
    }
}

impl Inboxes {
    pub(crate) fn new() -> Self {
        let all = (0..MAX_SHARDS)
            .map(|_| {
                Padded(Inbox {
                    state: Mutex::new(State::default()),
                    bell: Bell::new(),
                    processing: AtomicUsize::new(0),
                })
            })
            .collect();
        Self {
            all,
            above: AtomicUsize::new(0),
            awaiting: AtomicU64::new(0),
            bound: AtomicUsize::new(usize::MAX),
            high_water: AtomicUsize::new(HIGH_WATER_BYTES),
        }
    }

    /// Opens the inboxes of the first `shards` shards.
    pub(crate) fn open(&self, shards: usize, bound: usize) {
        let bound = bound.min(LARGEST_BOUND);
        let high_water = (bound / HIGH_WATER_PART).min(HIGH_WATER_BYTES);
        self.bound.store(bound, Ordering::Relaxed);
        self.high_water.store(high_water, Ordering::Relaxed);
        for inbox in self.all.iter().take(shards) {
            inbox.state.lock().open = true;
        }
    }

    /// Empties and closes a shard's inbox when the shard ends.
    pub(crate) fn shut(&self, shard: ShardIndex) -> Mail {
        let inbox = self.at(shard);
        inbox.bell.set_waker(None);
        let mut state = inbox.state.lock();
        state.open = false;
        state.bytes = 0;
        inbox.processing.store(0, Ordering::Relaxed);
        if std::mem::take(&mut state.above) {
            self.above.fetch_sub(1, Ordering::SeqCst);
        }
        std::mem::take(&mut state.mail)
    }

    /// Sets the waker for when mail arrives.
    pub(crate) fn set_waker(&self, shard: ShardIndex, waker: Waker) {
        self.at(shard).bell.set_waker(Some(waker));
    }

    /// Posts a command that is always accepted; the caller wakes the shard. Callers that could post without limit check
    /// [`has_room`](Self::has_room) first.
    pub(crate) fn post(&self, shard: ShardIndex, command: Command) {
        let inbox = self.at(shard);
        let mut state = inbox.state.lock();
        if state.open {
            state.bytes += COMMAND_CHARGE;
            state.mail.commands.push(command);
            let bytes = state.bytes + inbox.processing.load(Ordering::Relaxed);
            if !state.above && bytes > self.high_water() {
                self.rises(inbox, state);
            }
        }
    }

    /// A quick check whether this many commands can be posted to any shard: no inbox is above its high-water mark, and
    /// the commands are few. If false, [`has_room`](Self::has_room) answers for each shard.
    pub(crate) fn have_room(&self, commands: usize) -> bool {
        let charge = commands.saturating_mul(COMMAND_CHARGE);
        !self.congested() && charge <= self.bound.load(Ordering::Relaxed) / 4
    }

    /// Whether a shard's inbox accepts this many more commands. It accepts everything while its shard does not run.
    pub(crate) fn has_room(&self, shard: ShardIndex, commands: usize) -> bool {
        let inbox = self.at(shard);
        let charge = commands.saturating_mul(COMMAND_CHARGE);
        let state = inbox.state.lock();
        let bytes = state.bytes + inbox.processing.load(Ordering::Relaxed);
        !state.open || bytes.saturating_add(charge) <= self.bound.load(Ordering::Relaxed)
    }

    /// Posts a command to every running shard and wakes it.
    pub(crate) fn post_all(&self, command: impl Fn() -> Command) {
        for (index, inbox) in self.all.iter().enumerate() {
            let open = {
                let mut state = inbox.state.lock();
                if state.open {
                    state.mail.commands.push(command());
                }
                state.open
            };
            if open {
                self.wake_index(index);
            }
        }
    }

    /// Wakes these shards, each once; empties the set.
    #[inline]
    pub(crate) fn wake(&self, dirty: &mut ShardSet) {
        if !dirty.is_empty() {
            self.wake_dirty(dirty);
        }
    }

    #[inline(never)]
    fn wake_dirty(&self, dirty: &mut ShardSet) {
        for shard in dirty.take().iter() {
            self.wake_index(shard.get());
        }
    }

    /// Wakes the shards whose bits are set.
    pub(crate) fn wake_bits(&self, mut bits: u64) {
        while bits != 0 {
            self.wake_index(usize::try_from(bits.trailing_zeros()).unwrap_or_default());
            bits &= bits - 1;
        }
    }

    /// Whether some inbox is above its high-water mark, so that workers should take no more events.
    pub(crate) fn congested(&self) -> bool {
        self.above.load(Ordering::SeqCst) > 0
    }

    /// Has this shard woken once no inbox is above its high-water mark. The caller has to check again afterwards.
    pub(crate) fn await_room(&self, shard: ShardIndex) {
        self.awaiting.fetch_or(1 << shard.get(), Ordering::SeqCst);
    }

    /// Wakes the shards that wait for that.
    pub(crate) fn wake_awaiting(&self) {
        self.wake_bits(self.awaiting.swap(0, Ordering::SeqCst));
    }

    /// Begins a turn. Every wake-up from now on causes another turn, so the shard misses nothing that it checks after
    /// this call. Returns whether there was a wake-up; if not, another one follows everything in the inbox.
    pub(crate) fn turn_begins(&self, shard: ShardIndex) -> bool {
        self.at(shard).bell.turn_begins()
    }

    /// Ends a turn. True: there was a wake-up since it began, and the caller sees to it that another turn follows,
    /// because wake-ups during a turn wake no thread.
    #[must_use]
    pub(crate) fn turn_ends(&self, shard: ShardIndex) -> bool {
        self.at(shard).bell.turn_ends()
    }

    /// Takes everything out, in exchange for the emptied buffers of the last turn. Called once the [turn has
    /// begun](Self::turn_begins).
    pub(crate) fn take(&self, shard: ShardIndex, mail: &mut Mail) {
        let inbox = self.at(shard);
        let mut state = inbox.state.lock();
        std::mem::swap(&mut state.mail, mail);
        // room for less is kept in any case
        if mail.commands.len() > FEW_COMMANDS || mail.arena.len() > SMALL_ARENA {
            state.needed.note(mail);
        }
        inbox
            .processing
            .store(std::mem::take(&mut state.bytes), Ordering::Relaxed);
    }

    /// Frees the memory that bursts have left in the buffers of this inbox and its shard, so that what stays is in
    /// proportion to the turns since the last call.
    pub(crate) fn trim(&self, shard: ShardIndex, mail: &mut Mail) {
        let mut state = self.at(shard).state.lock();
        let needed = std::mem::take(&mut state.needed);
        state.mail.trim(needed);
        drop(state);
        mail.trim(needed);
    }

    /// Records that what was taken is processed. True: no inbox is above its high-water mark any more, so starved
    /// workers can continue.
    pub(crate) fn processed(&self, shard: ShardIndex, mail: &mut Mail) -> bool {
        mail.arena.clear();
        if !mail.commands.is_empty()
            || mail.arena.capacity() > KEPT_ARENA
            || mail.commands.capacity() > KEPT_COMMANDS
        {
            mail.shrink();
        }
        let inbox = self.at(shard);
        if inbox.processing.swap(0, Ordering::Relaxed) < self.high_water() / 2
            && self.above.load(Ordering::Relaxed) == 0
        {
            return false;
        }
        self.falls(inbox)
    }

    /// Called when much was processed or some inbox is above its high-water mark. True: none is any more. A function of
    /// its own, because few turns need it.
    #[inline(never)]
    fn falls(&self, inbox: &Inbox) -> bool {
        let mut state = inbox.state.lock();
        if !state.above {
            return false;
        }
        if state.bytes <= self.high_water() {
            state.above = false;
            return self.above.fetch_sub(1, Ordering::SeqCst) == 1;
        }
        // posts to an inbox that stays above the mark wake no shard, so what arrived meanwhile needs this wake-up
        drop(state);
        inbox.bell.ring();
        false
    }

    /// The deliveries posted to all shards.
    pub(crate) fn posted(&self) -> Posted {
        self.all.iter().fold(Posted::default(), |sum, inbox| {
            let state = inbox.state.lock();
            Posted {
                deliveries: sum.deliveries + state.posted,
                refused: sum.refused + state.refused,
            }
        })
    }

    fn high_water(&self) -> usize {
        self.high_water.load(Ordering::Relaxed)
    }

    /// Posts deliveries unless the inbox is full.
    #[inline]
    pub(crate) fn deliver(
        &self,
        shard: ShardIndex,
        charge: usize,
        count: u32,
        command: impl FnOnce(&mut Mail) -> Command,
    ) -> bool {
        let inbox = self.at(shard);
        let mut state = inbox.state.lock();
        let bytes = state.bytes + inbox.processing.load(Ordering::Relaxed);
        // one message always fits into an empty inbox
        if !state.open || (bytes > 0 && bytes + charge > self.bound.load(Ordering::Relaxed)) {
            state.refused += u64::from(count);
            return false;
        }
        state.bytes += charge;
        state.posted += u64::from(count);
        let command = command(&mut state.mail);
        state.mail.commands.push(command);
        if state.above || bytes + charge <= self.high_water() {
            return true;
        }
        self.rises(inbox, state);
        true
    }

    /// Posts small texts for sockets of one shard in order; those that do not fit are refused. False: some were
    /// refused.
    pub(crate) fn deliver_texts(&self, shard: ShardIndex, texts: &[Text<'_>]) -> bool {
        let inbox = self.at(shard);
        let bound = self.bound.load(Ordering::Relaxed);
        let mut state = inbox.state.lock();
        let bytes = state.bytes + inbox.processing.load(Ordering::Relaxed);
        let charge = texts.iter().map(Text::charge).sum::<usize>();
        let (charge, refused) = if state.open && bytes + charge <= bound {
            state.mail.extend(texts);
            (charge, 0)
        } else {
            state.extend_to(bound, bytes, texts)
        };
        state.bytes += charge;
        let count = u64::try_from(texts.len()).unwrap_or_default();
        state.posted += count - refused;
        state.refused += refused;
        if !state.above && bytes + charge > self.high_water() {
            self.rises(inbox, state);
        }
        refused == 0
    }

    /// Records that an inbox is above its high-water mark, and wakes its shard at once, because the caller may post
    /// much more before it wakes any shard. The caller may hold a channel's lock, but this happens once for all posts
    /// below the mark.
    #[cold]
    #[inline(never)]
    fn rises(&self, inbox: &Inbox, mut state: MutexGuard<'_, State>) {
        state.above = true;
        self.above.fetch_add(1, Ordering::SeqCst);
        drop(state);
        inbox.bell.ring();
    }

    fn wake_index(&self, index: usize) {
        if let Some(inbox) = self.all.get(index) {
            inbox.bell.ring();
        }
    }

    fn at(&self, shard: ShardIndex) -> &Inbox {
        &self.all[shard.get()]
    }
}

/// Places in the arena are 32-bit numbers.
const LARGEST_BOUND: usize = 1 << 31;

/// The bytes that a command takes in an inbox beside its payload.
pub(crate) const COMMAND_CHARGE: usize = size_of::<Command>();

/// The high-water mark of an inbox is its limit divided by this …
const HIGH_WATER_PART: usize = 4;

/// … or this many bytes if that is less. With a lower mark, workers and the shard would wait for each other; a higher
/// one only takes memory and delays messages.
const HIGH_WATER_BYTES: usize = 4 * 1024 * 1024;

/// The largest buffers that are kept between two turns.
const KEPT_ARENA: usize = 1024 * 1024;
const KEPT_COMMANDS: usize = 32 * 1024;

/// What is kept after a quiet time, too.
const SMALL_ARENA: usize = 16 * 1024;
const FEW_COMMANDS: usize = 256;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod model;

#[cfg(test)]
mod tests;

/// Run with `RUSTFLAGS="--cfg millrace_loom"`: checks every interleaving of posting, waking and taking.
#[cfg(all(test, millrace_loom))]
mod loom_tests;
