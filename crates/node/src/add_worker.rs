//! The worker object of a JavaScript thread. Owns how it is made and the list of its functions.

use std::rc::Rc;
use std::sync::Arc;

use millrace_gateway::limits::BATCH_BYTES;
use millrace_gateway::{Doorbell, Handlers};

use crate::arguments;
use crate::bound::Bound;
use crate::entry::{Call, define};
use crate::failure::Outcome;
use crate::handlers::HandlerThread;
use crate::js::{Type, Value};
use crate::memory::Memory;
use crate::{exchange, forward, replies, tell, worker};

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `addWorker(handlers, drain)`: adds a worker on this thread. `handlers` has one bit for each handler, as in
/// `HANDLERS` of `js/src/worker/kinds.generated.ts`.
pub(crate) fn add_worker<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [handlers, function, ..]) = (call.js, call.arguments);
    let handlers = arguments::whole(js, handlers, "handlers")?;
    if js.type_of(function)? != Type::Function {
        return Err(arguments::wrong(js, function, "drain", "a function"));
    }
    let environment = call.own.environment();
    let (gateway, member) = (call.own.gateway()?, call.own.party()?);
    let drain = js.keep(function)?;
    let thread = HandlerThread::new(Rc::clone(call.own), drain);
    let object = js.object()?;
    define!(js, object, &thread, {
        c"activate" => worker::activate,
        c"leave" => worker::leave,
        c"connections" => worker::connections,
        c"retire" => worker::retire,
        c"hold" => worker::hold,
        c"release" => worker::release,
        c"claimClose" => worker::claim_close,
        c"acceptOpen" => worker::accept_open,
        c"acceptWith" => worker::accept_with,
        c"refuseOpen" => worker::refuse_open,
        c"rebatch" => worker::rebatch,
        c"drainNow" => worker::drain_now,
        c"isIdle" => worker::is_idle,
        c"forward" => forward::forward,
        c"respond" => exchange::respond,
        c"beginAnswer" => exchange::begin_answer,
        c"writeAnswer" => exchange::write_answer,
        c"writeMessage" => exchange::write_message,
        c"endAnswer" => exchange::end_answer,
        c"wantRoom" => exchange::want_room,
        c"pull" => exchange::pull,
        c"requests" => exchange::requests,
        c"tell" => tell::tell,
        c"tellMany" => tell::tell_many,
        c"keepBytes" => tell::keep_bytes,
        c"forgetBytes" => tell::forget_bytes,
        c"tellShared" => tell::tell_shared,
        c"guardFile" => worker::guard_file,
        c"releaseFile" => worker::release_file,
        c"observe" => worker::observe,
        c"wake" => worker::wake,
    });
    let (buffer, exchange) = Memory::new(js, BATCH_BYTES)?;
    js.set(object, c"exchange", buffer)?;
    let (buffer, reply_list) = Memory::new(js, replies::LIST_BYTES)?;
    js.set(object, c"replyList", buffer)?;
    thread.set_memory(exchange, reply_list);
    let (words, bump) = environment.token_words(js)?;
    js.set(object, c"tokenWords", words)?;
    let number = environment.add_source(js, |door, line| {
        let door: Arc<dyn Doorbell> = door;
        let handlers = Handlers::from_bits(handlers);
        let worker = match member {
            Some(member) => member.add_worker(handlers, door),
            None => gateway.add_worker(handlers, door),
        };
        let line = Arc::clone(line);
        worker.set_token_words(Box::new(move |index| line.while_alive(|| bump.bump(index))));
        thread.set_worker(worker);
        Rc::<HandlerThread>::clone(&thread)
    })?;
    thread.set_number(number);
    let id = thread.present()?.id();
    js.set(object, c"id", js.number(f64::from(id))?)?;
    Ok(Some(object))
}
