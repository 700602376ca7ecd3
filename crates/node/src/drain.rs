//! One drain: a batch of events from a worker's queue into JavaScript. Owns the order of the steps.
//! Every status is checked, because a worker may be terminated at any step.

use std::mem;

use millrace_gateway::{Batch, Sidecar};

use crate::failure::{Failure, Outcome};
use crate::handlers::HandlerThread;
use crate::js::{Js, Type, Value};
use crate::numbers;
use crate::sources::Source;

/// Gives JavaScript the next batch, or the rest of the last one. Returns whether there was something
/// to handle. Rings again if something is left.
pub(crate) fn drain(js: Js<'_>, thread: &HandlerThread) -> Outcome<bool> {
    let (Some(worker), Some(function)) = (thread.worker(), thread.drain_function()) else {
        return Ok(false);
    };
    if worker.is_retired() {
        // not every runtime ends a thread within a handler; later events must not be handled here
        thread.end();
        return Ok(false);
    }
    worker.begin_drain();
    let environment = thread.environment();
    if environment.is_draining() {
        // a handler has run the event loop within a drain
        worker.ring();
        return Ok(false);
    }
    let arguments = if thread.batch().borrow().is_some() {
        [js.null()?, js.number(0.0)?, js.null()?]
    } else {
        match next_batch(js, thread)? {
            Some(arguments) => arguments,
            None => return Ok(false),
        }
    };
    let answer = environment.drain(|| js.call(js.kept(function)?, &arguments));
    let stopped_early = match answer {
        Ok(answer) => js.type_of(answer)? == Type::Boolean && js.to_boolean(answer)?,
        Err(failure) => {
            // the rest is handled after the exception, if the thread survives it
            worker.ring();
            return Err(failure);
        }
    };
    let more = if stopped_early {
        true
    } else {
        // taken before `finish`, so that nothing is borrowed while shards are woken
        let batch = thread.take_batch();
        batch.is_some_and(|batch| worker.finish(batch))
    };
    if more {
        worker.ring();
    }
    Ok(true)
}

impl Source for HandlerThread {
    fn answer(&self, js: Js<'_>) -> Outcome<()> {
        drain(js, self).map(|_handled| ())
    }

    fn end(&self, js: Js<'_>) {
        self.retire(js);
    }
}

fn next_batch<'s>(js: Js<'s>, thread: &HandlerThread) -> Outcome<Option<[Value<'s>; 3]>> {
    let Some(worker) = thread.worker() else {
        return Ok(None);
    };
    let Some(mut batch) = worker.take() else {
        return Ok(None);
    };
    let sidecars = mem::take(&mut batch.sidecars);
    let arguments = arguments(js, thread, &batch, sidecars);
    thread.batch().replace(Some(batch));
    match arguments {
        Ok(arguments) => Ok(Some(arguments)),
        Err(Failure::Abandoned) => Err(Failure::Abandoned),
        Err(failure) => {
            // this thread has lost the events; its connections must not wait for them
            thread.end();
            Err(failure)
        }
    }
}

fn arguments<'s>(
    js: Js<'s>,
    thread: &HandlerThread,
    batch: &Batch,
    sidecars: Vec<Sidecar>,
) -> Outcome<[Value<'s>; 3]> {
    let bytes = &batch.bytes;
    // a handler may keep binary data, so a batch with binary data gets its own buffer
    let buffer = if !batch.has_binary && thread.exchange(bytes) {
        js.boolean(true)?
    } else {
        js.array_buffer(bytes)?.0
    };
    let beside = if sidecars.is_empty() {
        js.null()?
    } else {
        let mut texts = thread.texts().borrow_mut();
        let list = js.array(sidecars.len())?;
        let mut adopted = 0_usize;
        for (index, sidecar) in (0_u32..).zip(sidecars) {
            let value = match sidecar {
                // kept first: what is moved after a long copy waits for it
                Sidecar::Text(text) => js.ascii_string(texts.keep(index, text))?,
                Sidecar::Bytes(bytes) => {
                    adopted = adopted.saturating_add(bytes.len());
                    js.adopted_array_buffer(bytes)?
                }
            };
            js.set_element(list, index, value)?;
        }
        thread.environment().adopted(js, adopted)?;
        list
    };
    Ok([buffer, js.number(numbers::from_usize(bytes.len()))?, beside])
}
