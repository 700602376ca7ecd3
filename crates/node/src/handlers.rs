//! A worker on its JavaScript thread, on which the functions for its events work. Owns the worker and
//! the current batch; never decodes a record.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use millrace_gateway::{AnswerHeads, Batch, ShardSet, Worker};

use crate::addon::{ADDON, Counted};
use crate::answering::Answering;
use crate::bound::Bound;
use crate::entry::Owner;
use crate::environment::Environment;
use crate::failure::{Failure, Outcome};
use crate::guarded_files::GuardedFiles;
use crate::js::{Js, Reference, Value};
use crate::kept_bytes::KeptBytes;
use crate::memory::Memory;
use crate::shells::Shell;
use crate::texts::Texts;

/// See the module. It lives as long as JavaScript has one of its functions, or it may ring.
#[derive(Debug)]
pub(crate) struct HandlerThread {
    bound: Rc<Bound>,
    /// Its number as a shell of its environment.
    shell: usize,
    worker: RefCell<Option<Arc<Worker>>>,
    /// The JavaScript function that handles a batch.
    drain: Cell<Option<Reference>>,
    /// The number with which the worker rings here.
    number: Cell<Option<usize>>,
    /// The shared memory for batches without binary data, which handlers cannot keep.
    exchange: RefCell<Option<Memory>>,
    answering: Rc<Answering>,
    kept_bytes: KeptBytes,
    guarded_files: GuardedFiles,
    _counted: Counted,
}

impl HandlerThread {
    /// Makes one without a worker yet. Batches are passed to `drain`.
    pub(crate) fn new(bound: Rc<Bound>, drain: Reference) -> Rc<Self> {
        Rc::new(Self {
            bound,
            shell: ADDON.new_number(),
            worker: RefCell::new(None),
            drain: Cell::new(Some(drain)),
            number: Cell::new(None),
            exchange: RefCell::new(None),
            answering: Rc::default(),
            kept_bytes: KeptBytes::default(),
            guarded_files: GuardedFiles::default(),
            _counted: Counted::new(&ADDON.counts().workers),
        })
    }

    /// Sets its worker.
    pub(crate) fn set_worker(&self, worker: Arc<Worker>) {
        // a thread that hangs may never end
        let files = self.guarded_files.clone();
        worker.when_given_up(Box::new(move || files.remove_all()));
        self.worker.replace(Some(worker));
    }

    /// Sets the number with which the worker rings here.
    pub(crate) fn set_number(&self, number: usize) {
        self.number.set(Some(number));
    }

    /// Sets the memory that it shares with JavaScript.
    pub(crate) fn set_memory(&self, exchange: Memory, replies: Memory) {
        self.exchange.replace(Some(exchange));
        self.answering.list.replace(Some(replies));
        self.bound.answer_from(&self.answering);
    }

    /// The worker, until it has ended.
    pub(crate) fn worker(&self) -> Option<Arc<Worker>> {
        self.worker.borrow().as_ref().map(Arc::clone)
    }

    pub(crate) fn drain_function(&self) -> Option<Reference> {
        self.drain.get()
    }

    pub(crate) fn batch(&self) -> &RefCell<Option<Batch>> {
        &self.answering.batch
    }

    pub(crate) fn texts(&self) -> &RefCell<Texts> {
        &self.answering.texts
    }

    pub(crate) fn heads(&self) -> &RefCell<AnswerHeads> {
        &self.answering.heads
    }

    /// Takes the batch, which is handled.
    pub(crate) fn take_batch(&self) -> Option<Batch> {
        self.answering.take_batch()
    }

    /// The bytes that this thread sends many times.
    pub(crate) fn kept_bytes(&self) -> &KeptBytes {
        &self.kept_bytes
    }

    /// Files that its JavaScript is writing.
    pub(crate) fn guarded_files(&self) -> &GuardedFiles {
        &self.guarded_files
    }

    /// The gateway bound to this thread.
    pub(crate) fn bound(&self) -> &Rc<Bound> {
        &self.bound
    }

    /// The environment that it belongs to.
    pub(crate) fn environment(&self) -> &Environment {
        self.bound.environment()
    }

    /// Writes a batch to the memory that JavaScript can always see. Returns false if it does not fit.
    pub(crate) fn exchange(&self, bytes: &[u8]) -> bool {
        let exchange = self.exchange.borrow();
        exchange.as_ref().is_some_and(|memory| memory.fill(bytes))
    }

    /// Ends the worker, because its environment ends or its gateway stops.
    pub(crate) fn end(&self) {
        let worker = self.worker.take();
        if let Some(worker) = worker {
            worker.retire();
        }
        self.take_batch();
        self.kept_bytes.clear();
    }

    /// Releases everything that was kept for the worker, because it has ended.
    pub(crate) fn retire(&self, js: Js<'_>) {
        self.end();
        self.kept_bytes.weigh(js);
        if let Some(drain) = self.drain.take() {
            js.forget(drain);
        }
        for memory in [&self.exchange, &self.answering.list] {
            let memory = memory.take();
            if let Some(memory) = memory {
                memory.release(js);
            }
        }
        if let Some(number) = self.number.take() {
            self.bound.environment().remove_source(number);
        }
    }

    /// The worker; a failure if it has ended.
    pub(crate) fn present(&self) -> Outcome<Arc<Worker>> {
        self.worker().ok_or_else(|| {
            Failure::Coded(
                "ERR_MILLRACE_WORKER_GONE",
                "this worker has ended".to_owned(),
            )
        })
    }

    pub(crate) fn post(&self, work: impl FnOnce(&Worker, &mut ShardSet)) -> Outcome<()> {
        let worker = self.present()?;
        self.bound.post(|_gateway, dirty| work(&worker, dirty))
    }
}

impl Shell for HandlerThread {
    fn wake(&self) {
        // needed even if nothing else uses the gateway any more
        self.bound.wake_dirty();
    }

    fn lost(&self) {}

    fn end(&self, js: Js<'_>) {
        self.retire(js);
        self.guarded_files.remove_all();
    }
}

impl Owner for HandlerThread {
    fn error_class(&self) -> Option<Reference> {
        self.bound.error_class()
    }

    fn keep(own: &Rc<Self>, js: Js<'_>, function: Value<'_>) -> Outcome<()> {
        own.environment().keep(js, (own.shell, own), function)
    }
}
