//! A JavaScript thread's side of a worker: what the functions that answer for its events work on. Owns
//! the worker and the batch being handled; never decodes a record.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use millrace_gateway::{Batch, ShardSet, Worker};

use crate::addon::{ADDON, Counted};
use crate::bound::{Bound, ReplyList};
use crate::entry::Owner;
use crate::environment::Environment;
use crate::failure::{Failure, Outcome};
use crate::guarded_files::GuardedFiles;
use crate::js::{Js, Reference, Value};
use crate::kept_bytes::KeptBytes;
use crate::memory::Memory;
use crate::shells::Shell;
use crate::texts::Texts;

/// See the module. There as long as JavaScript has one of its functions, or it may ring.
#[derive(Debug)]
pub(crate) struct HandlerThread {
    bound: Rc<Bound>,
    /// In its environment.
    shell: usize,
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
    replies: Rc<ReplyList>,
    kept_bytes: KeptBytes,
    guarded_files: GuardedFiles,
    _counted: Counted,
}

impl HandlerThread {
    /// Without a worker yet; batches go to `drain`.
    pub(crate) fn new(bound: Rc<Bound>, drain: Reference) -> Rc<Self> {
        Rc::new(Self {
            bound,
            shell: ADDON.new_number(),
            worker: RefCell::new(None),
            drain: Cell::new(Some(drain)),
            number: Cell::new(None),
            batch: RefCell::new(None),
            texts: RefCell::default(),
            exchange: RefCell::new(None),
            replies: Rc::default(),
            kept_bytes: KeptBytes::default(),
            guarded_files: GuardedFiles::default(),
            _counted: Counted::new(&ADDON.counts().workers),
        })
    }

    /// What it answers for.
    pub(crate) fn set_worker(&self, worker: Arc<Worker>) {
        // a thread that hangs may never end
        let files = self.guarded_files.clone();
        worker.when_given_up(Box::new(move || files.remove_all()));
        self.worker.replace(Some(worker));
    }

    /// The number with which the worker rings here.
    pub(crate) fn set_number(&self, number: usize) {
        self.number.set(Some(number));
    }

    /// The memory that it shares with JavaScript.
    pub(crate) fn set_memory(&self, exchange: Memory, replies: Memory) {
        self.exchange.replace(Some(exchange));
        self.replies.replace(Some(replies));
        self.bound.collect_in(&self.replies);
    }

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

    pub(crate) fn texts(&self) -> &RefCell<Texts> {
        &self.texts
    }

    /// The batch is handled; it is the caller's.
    pub(crate) fn take_batch(&self) -> Option<Batch> {
        self.texts.borrow_mut().clear();
        self.batch.take()
    }

    /// Bytes that it sends many times.
    pub(crate) fn kept_bytes(&self) -> &KeptBytes {
        &self.kept_bytes
    }

    /// Files that its JavaScript is writing.
    pub(crate) fn guarded_files(&self) -> &GuardedFiles {
        &self.guarded_files
    }

    /// The gateway as this thread sees it.
    pub(crate) fn bound(&self) -> &Rc<Bound> {
        &self.bound
    }

    /// Where it is.
    pub(crate) fn environment(&self) -> &Environment {
        self.bound.environment()
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
        self.kept_bytes.clear();
    }

    /// The worker has ended: nothing is kept for it any more.
    pub(crate) fn retire(&self, js: Js<'_>) {
        self.end();
        self.kept_bytes.weigh(js);
        if let Some(drain) = self.drain.take() {
            js.forget(drain);
        }
        for memory in [&self.exchange, &*self.replies] {
            let memory = memory.take();
            if let Some(memory) = memory {
                memory.release(js);
            }
        }
        if let Some(number) = self.number.take() {
            self.bound.environment().remove_source(number);
        }
    }

    /// The worker; a failure once it has ended.
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
        // also where nothing but this uses it any more
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
