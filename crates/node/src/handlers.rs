//! A JavaScript thread's side of a worker: the functions that answer for its events. Owns the worker
//! and the batch being handled; never decodes a record.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use bytes::Bytes;
use millrace_gateway::limits::BATCH_BYTES;
use millrace_gateway::{
    Acceptance, Batch, Doorbell, Handlers, Rejection, ShardSet, SocketId, Worker,
};

use crate::arguments;
use crate::bind::Bound;
use crate::drain;
use crate::entry::{Call, Owner, define};
use crate::environment::{Environment, Source};
use crate::failure::{Failure, Outcome};
use crate::forward::{self, Texts};
use crate::js::{Js, Reference, Type, Value};
use crate::memory::Memory;
use crate::{exchange, numbers, replies};

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// See the module. The shell is never freed: a function may outlive the object it was on.
#[derive(Debug)]
pub(crate) struct HandlerThread {
    bound: &'static Bound,
    worker: RefCell<Option<Arc<Worker>>>,
    /// The JavaScript function that handles a batch.
    drain: Cell<Option<Reference>>,
    /// The number with which the worker rings here.
    number: Cell<Option<usize>>,
    /// Kept until every record is handled, because JavaScript may ask for it again.
    batch: RefCell<Option<Batch>>,
    /// The long texts of that batch, which handlers may send on.
    texts: RefCell<Texts>,
    /// Where batches go whose records handlers are not shown in place.
    exchange: RefCell<Option<Memory>>,
    /// Where JavaScript lists the replies it collected.
    reply_list: RefCell<Option<Memory>>,
}

impl HandlerThread {
    /// The worker, until it has ended.
    pub(crate) fn worker(&self) -> Option<Arc<Worker>> {
        self.worker.borrow().as_ref().map(Arc::clone)
    }

    pub(crate) fn drain_function(&self) -> Option<Reference> {
        self.drain.get()
    }

    pub(crate) fn batch(&self) -> &RefCell<Option<Batch>> {
        &self.batch
    }

    pub(crate) fn reply_list(&self) -> &RefCell<Option<Memory>> {
        &self.reply_list
    }

    pub(crate) fn texts(&self) -> &RefCell<Texts> {
        &self.texts
    }

    /// The batch is handled; it is the caller's.
    pub(crate) fn take_batch(&self) -> Option<Batch> {
        self.texts.borrow_mut().clear();
        self.batch.take()
    }

    /// The gateway as this thread sees it.
    pub(crate) fn bound(&self) -> &'static Bound {
        self.bound
    }

    /// Writes a batch to the memory that JavaScript always sees; false: it does not fit.
    pub(crate) fn exchange(&self, bytes: &[u8]) -> bool {
        let exchange = self.exchange.borrow();
        exchange.as_ref().is_some_and(|memory| memory.fill(bytes))
    }

    /// Its environment goes away, or its gateway stops.
    pub(crate) fn end(&self) {
        let worker = self.worker.take();
        if let Some(worker) = worker {
            worker.retire();
        }
        self.take_batch();
    }

    fn present(&self) -> Outcome<Arc<Worker>> {
        self.worker().ok_or_else(|| {
            Failure::Coded(
                "ERR_MILLRACE_WORKER_GONE",
                "this worker has ended".to_owned(),
            )
        })
    }

    pub(crate) fn post(&self, work: impl FnOnce(&Worker, &mut ShardSet)) -> Outcome<()> {
        let worker = self.present()?;
        self.bound.post(|_gateway, touched| work(&worker, touched))
    }
}

impl Owner for HandlerThread {
    fn environment(&'static self) -> &'static Environment {
        self.bound.environment()
    }
}

/// `addWorker(handlers, drain)`: a worker on this thread. `handlers` has a bit for each handler:
/// 1 open, 2 text, 4 binary, 8 close, 16 drain, 32 request.
pub(crate) fn add_worker<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [flags, function, ..]) = (call.js, call.arguments);
    let flags = arguments::whole(js, flags, "handlers")?;
    if js.type_of(function)? != Type::Function {
        return Err(arguments::wrong(js, function, "drain", "a function"));
    }
    let environment = call.own.environment();
    let gateway = call.own.gateway()?;
    let thread: &'static HandlerThread = Box::leak(Box::new(HandlerThread {
        bound: call.own,
        worker: RefCell::new(None),
        drain: Cell::new(Some(js.keep(function)?)),
        number: Cell::new(None),
        batch: RefCell::new(None),
        texts: RefCell::default(),
        exchange: RefCell::new(None),
        reply_list: RefCell::new(None),
    }));
    let object = js.object()?;
    define!(js, object, thread, {
        c"activate" => activate,
        c"leave" => leave,
        c"connections" => connections,
        c"retire" => retire,
        c"hold" => hold,
        c"release" => release,
        c"claimClose" => claim_close,
        c"acceptOpen" => accept_open,
        c"refuseOpen" => refuse_open,
        c"rebatch" => rebatch,
        c"drainNow" => drain_now,
        c"isIdle" => is_idle,
        c"forward" => forward::forward,
        c"respond" => exchange::respond,
        c"beginAnswer" => exchange::begin_answer,
        c"writeAnswer" => exchange::write_answer,
        c"endAnswer" => exchange::end_answer,
        c"wantRoom" => exchange::want_room,
        c"pull" => exchange::pull,
        c"requests" => exchange::requests,
        c"observe" => observe,
        c"wake" => wake,
    });
    let (exchange, memory) = Memory::new(js, BATCH_BYTES)?;
    js.set(object, c"exchange", exchange)?;
    thread.exchange.replace(Some(memory));
    let (list, memory) = Memory::new(js, replies::LIST_BYTES)?;
    js.set(object, c"replyList", list)?;
    thread.reply_list.replace(Some(memory));
    call.own.collect_for(thread);
    let (words, bump) = environment.token_words(js)?;
    js.set(object, c"tokenWords", words)?;
    let number = environment.add_source(js, |door, line| {
        let door: Arc<dyn Doorbell> = door;
        let worker = gateway.add_worker(handlers(flags), door);
        let line = Arc::clone(line);
        worker.set_token_words(Box::new(move |index| line.while_alive(|| bump.bump(index))));
        thread.worker.replace(Some(worker));
        Ok(Source::Worker(thread))
    })?;
    thread.number.set(Some(number));
    let id = thread.present()?.id();
    js.set(object, c"id", js.number(f64::from(id))?)?;
    Ok(Some(object))
}

fn handlers(flags: u32) -> Handlers {
    Handlers {
        open: flags & 1 != 0,
        text: flags & 2 != 0,
        binary: flags & 4 != 0,
        close: flags & 8 != 0,
        drain: flags & 16 != 0,
        request: flags & 32 != 0,
    }
}

/// `activate()`: takes connections from now on.
fn activate<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    call.own.present()?.activate();
    Ok(None)
}

/// `retire()`: takes nothing any more.
#[expect(clippy::unnecessary_wraps, reason = "every callback has this shape")]
fn retire<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    call.own.end();
    if let Some(drain) = call.own.drain.take() {
        call.js.forget(drain);
    }
    for memory in [&call.own.exchange, &call.own.reply_list] {
        let memory = memory.take();
        if let Some(memory) = memory {
            memory.release(call.js);
        }
    }
    if let Some(number) = call.own.number.take() {
        call.own.environment().remove_source(number);
    }
    Ok(None)
}

/// `leave()`: it is replaced; it takes no more connections, and those it has are closed with 1012.
fn leave<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    call.own.present()?.leave();
    Ok(None)
}

/// `connections(): number`: those that are pinned to it.
fn connections<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let count = call.own.worker().map_or(0, |worker| worker.connections());
    call.js.number(numbers::from_u64(count)).map(Some)
}

/// `hold(socketId, events, bytes)`
fn hold<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (socket, events, bytes) = credit(call)?;
    call.own
        .post(|worker, touched| worker.hold(socket, events, bytes, touched))?;
    Ok(None)
}

/// `release(socketId, events, bytes)`
fn release<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (socket, events, bytes) = credit(call)?;
    call.own
        .post(|worker, touched| worker.release(socket, events, bytes, touched))?;
    Ok(None)
}

fn credit(call: &Call<'_, HandlerThread>) -> Outcome<(SocketId, u32, u32)> {
    let (js, [socket, events, bytes, ..]) = (call.js, call.arguments);
    let socket = arguments::id(js, socket, "socketId")?;
    Ok((
        socket,
        arguments::whole(js, events, "events")?,
        arguments::whole(js, bytes, "bytes")?,
    ))
}

/// `claimClose(socketId): boolean`
fn claim_close<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let socket = arguments::id(call.js, call.arguments[0], "socketId")?;
    let claimed = call
        .own
        .worker()
        .is_some_and(|worker| worker.claim_close(socket));
    call.js.boolean(claimed).map(Some)
}

/// `acceptOpen(socketId, protocol, token, headers)`; `headers` lists names and values in turn.
fn accept_open<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (js, [socket, protocol, token, headers, _]) = (call.js, call.arguments);
    let socket = arguments::id(js, socket, "socketId")?;
    let protocol = if arguments::is_undefined(js, protocol)? {
        None
    } else {
        Some(arguments::text(js, protocol, "protocol")?)
    };
    let mut scratch = call.own.environment().scratch().borrow();
    let token = arguments::optional_copied(js, token, "token", &mut scratch)?;
    token.as_ref().map_or(Ok(()), arguments::check_token)?;
    let acceptance = Acceptance {
        protocol,
        token,
        headers: read_headers(js, headers)?,
    };
    call.own
        .post(|worker, touched| worker.accept_open(socket, acceptance, touched))?;
    Ok(None)
}

/// `refuseOpen(socketId, status, headers, body)`
fn refuse_open<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (js, [socket, status, headers, body, _]) = (call.js, call.arguments);
    let socket = arguments::id(js, socket, "socketId")?;
    let status = u16::try_from(arguments::whole(js, status, "status")?)
        .map_err(|_| arguments::wrong(js, status, "status", "an HTTP status"))?;
    let mut scratch = call.own.environment().scratch().borrow();
    let body: Bytes =
        arguments::optional_copied(js, body, "body", &mut scratch)?.unwrap_or_default();
    let rejection = Rejection {
        status,
        headers: read_headers(js, headers)?,
        body,
    };
    call.own
        .post(|worker, touched| worker.refuse_open(socket, rejection, touched))?;
    Ok(None)
}

fn read_headers(js: Js<'_>, list: Value<'_>) -> Outcome<Vec<(String, String)>> {
    if arguments::is_undefined(js, list)? {
        return Ok(Vec::new());
    }
    if !js.is_array(list)? {
        return Err(arguments::wrong(js, list, "headers", "an array"));
    }
    let mut headers = Vec::new();
    for index in (1..js.array_length(list)?).step_by(2) {
        let name = arguments::text(js, js.element(list, index - 1)?, "headers")?;
        headers.push((
            name,
            arguments::text(js, js.element(list, index)?, "headers")?,
        ));
    }
    Ok(headers)
}

/// `rebatch(): ArrayBuffer | undefined`: the batch being handled, whole, again.
fn rebatch<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let batch = call.own.batch.borrow();
    batch
        .as_ref()
        .map(|batch| call.js.array_buffer(&batch.bytes).map(|(buffer, _)| buffer))
        .transpose()
}

/// `drainNow(): boolean`: what a ring does, at once; true if there was something to handle.
fn drain_now<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let handled = drain::drain(call.js, call.own.environment(), call.own)?;
    call.js.boolean(handled).map(Some)
}

/// `observe(micros)`: a handler took so long.
fn observe<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let micros = numbers::to_u64(call.js.to_number(call.arguments[0])?).unwrap_or_default();
    if let Some(worker) = call.own.worker() {
        worker.observe(micros);
    }
    Ok(None)
}

/// `wake()`: I/O threads send what the running drain posted so far.
#[expect(clippy::unnecessary_wraps, reason = "every callback has this shape")]
fn wake<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    call.own.bound.wake();
    Ok(None)
}

/// `isIdle(): boolean`: nothing waits and nothing is being handled.
fn is_idle<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let idle = call.own.batch.borrow().is_none()
        && call.own.worker().is_none_or(|worker| worker.is_idle());
    call.js.boolean(idle).map(Some)
}
