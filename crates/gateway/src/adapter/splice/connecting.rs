//! Calls to connect that are in progress: asks the worker if it has a handler for them, checks the target, and reaches
//! or refuses it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use ahash::AHashMap;
use millrace_protocol::splice::{
    ConnectParams, GivenHeaders, Problem, Target as Url, local_target,
};

use super::dial::{Failure, Order, Switched, Way};
use super::local::Inner;
use super::say::fail;
use super::target::{Connected, Target};
use super::targets::{Note, TOO_MANY, Targets};
use super::terms::Counted;
use crate::contract::{Context, Dial, Event, Instruction, Operation, Reached};

/// See the module.
#[derive(Debug)]
pub(super) struct Connecting {
    targets: Rc<Targets>,
    /// The calls that wait for the worker's answer.
    asked: RefCell<AHashMap<u64, Asked>>,
    /// Accepts targets within the gateway.
    inner: Option<Inner>,
}

/// A call to connect.
#[derive(Debug)]
struct Call {
    id: i64,
    dial: u64,
    params: ConnectParams,
    counted: Counted,
}

/// A call that waits for the worker's answer.
#[derive(Debug)]
struct Asked {
    call: Call,
    /// The time by which the worker must have answered.
    until: u64,
}

impl Connecting {
    pub(super) fn new(targets: &Rc<Targets>, inner: Option<Inner>) -> Self {
        Self {
            targets: Rc::clone(targets),
            asked: RefCell::default(),
            inner,
        }
    }

    /// The client calls; the reply is sent when the target was reached or failed.
    pub(super) fn call(&self, id: i64, params: ConnectParams, cx: &mut Context<'_>) {
        let terms = &self.targets.terms;
        let most = usize::try_from(terms.limits.targets_per_session).unwrap_or(usize::MAX);
        let taken = self.targets.count() + self.asked.borrow().len();
        let Some(counted) = terms.count().filter(|_| taken < most) else {
            return fail(id, Problem::DialFailed, TOO_MANY, cx);
        };
        let call = Call {
            id,
            dial: self.targets.next_dial(),
            params,
            counted,
        };
        if cx.handles(Event::SpliceConnect) {
            self.ask(call, cx);
        } else {
            self.begin(call, false, cx);
        }
    }

    /// Asks the worker.
    fn ask(&self, call: Call, cx: &mut Context<'_>) {
        let params = &call.params;
        if params.url.contains(|one: char| one.is_ascii_control()) {
            return fail(call.id, Problem::InvalidUrl, Problem::InvalidUrl.text(), cx);
        }
        let mut payload = params.url.clone().into_bytes();
        for (name, value) in params.headers.iter() {
            for text in [name, value] {
                payload.push(0);
                payload.extend_from_slice(text.as_bytes());
            }
        }
        cx.report(Event::SpliceConnect, &call.dial.to_le_bytes(), &payload);
        let timeout = self.targets.terms.limits.dial_timeout.as_millis();
        let until = cx
            .now()
            .saturating_add(u64::try_from(timeout).unwrap_or(u64::MAX));
        let asked = Asked { call, until };
        self.asked.borrow_mut().insert(asked.call.dial, asked);
    }

    /// Handles the worker's answer.
    pub(super) fn answered(&self, answer: &Instruction<'_>, cx: &mut Context<'_>) {
        if answer.operation() != Some(Operation::SpliceAnswer) {
            return;
        }
        let Some((dial, verdict)) = answer.fields().split_first_chunk() else {
            return;
        };
        let asked = self.asked.borrow_mut().remove(&u64::from_le_bytes(*dial));
        // the answer came after the call had failed
        let Some(Asked { mut call, .. }) = asked else {
            return;
        };
        match verdict.first() {
            Some(&REFUSED) => {
                let problem = Problem::HostNotAllowed;
                return fail(call.id, problem, problem.text(), cx);
            }
            Some(&REWRITTEN) => {
                if let Err(text) = rewrite(&mut call.params, answer.payload()) {
                    return fail(call.id, Problem::DialFailed, text, cx);
                }
            }
            Some(&FAILED) => return fail(call.id, Problem::DialFailed, HANDLER_FAILED, cx),
            _ => {}
        }
        self.begin(call, true, cx);
    }

    /// Fails the calls that the worker has not answered in time.
    pub(super) fn look(&self, cx: &mut Context<'_>) {
        let now = cx.now();
        let late: Vec<_> = {
            let mut asked = self.asked.borrow_mut();
            let late = asked.iter().filter(|(_, asked)| asked.until <= now);
            let late: Vec<_> = late.map(|(dial, _)| *dial).collect();
            late.iter().filter_map(|dial| asked.remove(dial)).collect()
        };
        for asked in late {
            fail(asked.call.id, Problem::DialFailed, "client timeout", cx);
        }
    }

    /// When the next call fails.
    pub(super) fn next(&self) -> Option<u64> {
        self.asked.borrow().values().map(|asked| asked.until).min()
    }

    /// Checks the target and starts to reach it. `judged`: the worker has accepted it.
    fn begin(&self, call: Call, judged: bool, cx: &mut Context<'_>) {
        let Call {
            id,
            dial,
            params,
            counted,
        } = call;
        let way = match self.way(&params.url, judged) {
            Ok(way) => way,
            Err(problem) => return fail(id, problem, problem.text(), cx),
        };
        let stats = self.targets.stats_of(&way.host());
        let web_socket = params.web_socket;
        let counts = way.counts();
        let order = Order {
            way,
            headers: params.headers,
            subprotocols: params.subprotocols,
            timeout: params.timeout,
        };
        let targets = Rc::clone(&self.targets);
        let reach = Box::pin(async move {
            let terms = Arc::clone(&targets.terms);
            match terms.dialler.reach(order).await {
                Ok(Switched {
                    stream,
                    early,
                    protocol,
                    is_compressed,
                }) => {
                    let call = Connected {
                        id,
                        dial,
                        web_socket,
                        protocol,
                        is_compressed,
                        stats,
                    };
                    Some(Reached {
                        stream,
                        early,
                        session: Box::new(Target::new(&targets, call, counted)),
                        counts,
                    })
                }
                Err(Failure { problem, text }) => {
                    stats.fail();
                    targets.failed(dial, Note::Failed { id, problem, text });
                    None
                }
            }
        });
        let dialled = cx.dial(Dial { reach });
        self.targets.dialling(dial, dialled);
    }

    /// How a URL is reached, if it may be.
    fn way(&self, url: &str, judged: bool) -> Result<Way, Problem> {
        if let (Some(inner), Some(target)) = (&self.inner, local_target(url)) {
            let target = target.map_err(|_| Problem::InvalidUrl)?;
            return Ok(Way::Inside {
                target,
                stream: inner.connect(),
            });
        }
        let target = Url::parse(url).map_err(|_| Problem::InvalidUrl)?;
        if self.targets.terms.dialler.may_reach(target.host(), judged) {
            Ok(Way::Outside(target))
        } else {
            Err(Problem::HostNotAllowed)
        }
    }
}

/// Replaces URL and headers by those of the worker, in the form in which it got the client's.
fn rewrite(params: &mut ConnectParams, wanted: &[u8]) -> Result<(), &'static str> {
    let wanted = str::from_utf8(wanted).map_err(|_| HANDLER_FAILED)?;
    let mut texts = wanted.split('\0');
    texts.next().unwrap_or_default().clone_into(&mut params.url);
    params.headers = GivenHeaders::default();
    while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
        let set = params.headers.set(name, value);
        set.map_err(|_| HANDLER_HEADERS)?;
    }
    Ok(())
}

/// The worker's answers by number; any other number accepts the target unchanged.
const REFUSED: u8 = 0;
const REWRITTEN: u8 = 2;
const FAILED: u8 = 3;

const HANDLER_FAILED: &str = "handleSpliceConnect failed";
const HANDLER_HEADERS: &str = "handleSpliceConnect gave headers that a handshake cannot have";
