// `peer.waitForDrain`, with a gateway whose outbox each test makes.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import millraceAdapter from '../support/millrace-crossws.mjs';

/** A peer, what its gateway says of its outbox, and what it was asked. */
function peerWith(queued) {
  const outbox = { queued, looks: 0, questions: [] };
  let peer;
  const hooks = {
    open(opened) {
      peer = opened;
    },
  };
  const adapter = millraceAdapter({ hooks });
  adapter.handlers.handleStart(undefined, {
    outboxBytes() {
      outbox.looks++;
      return outbox.queued;
    },
    drained: (_id, { signal }) =>
      new Promise((answer, fail) => {
        signal.addEventListener('abort', () => fail(signal.reason));
        outbox.questions.push({ answer, fail, signal });
      }),
  });
  adapter.handlers.handleOpen(7, '', {}, { url: '/', path: '/', headers: {}, protocols: [] });
  return { peer, outbox, close: () => adapter.handlers.handleClose(7) };
}

/** A wait of which can be seen whether it is over. */
function waiting(peer, options) {
  const wait = { isOver: false };
  wait.done = peer.waitForDrain({ pollInterval: 1, ...options }).finally(() => {
    wait.isOver = true;
  });
  wait.done.catch(() => {});
  return wait;
}

/** Waits with a timer of its own, because that of `waitForDrain` does not keep a process alive. */
const over = (wait) => until(() => wait.isOver, 'the end of the wait');

test('it asks the I/O thread before it believes that nothing is queued', async (t) => {
  const { peer, outbox } = peerWith(0);
  const wait = waiting(peer, { threshold: 1000 });
  await until(() => outbox.looks > 3, 'a few looks');
  t.false(wait.isOver);
  outbox.questions[0].answer(true);
  await wait.done;
  t.true(outbox.questions[0].signal.aborted);
});

test('it waits on after the answer until the threshold is reached', async (t) => {
  const { peer, outbox } = peerWith(100_000);
  const wait = waiting(peer);
  outbox.questions[0].answer(true);
  await until(() => outbox.looks > 3, 'a few looks');
  t.false(wait.isOver);
  outbox.queued = 0;
  await over(wait);
  t.is(outbox.questions.length, 1);
});

test('with a threshold above what is queued it does not wait for the answer, and takes the question back', async (t) => {
  const { peer, outbox } = peerWith(100_000);
  await over(waiting(peer, { threshold: 200_000 }));
  t.true(outbox.questions[0].signal.aborted);
});

test('it ends when the peer has left, by the answer or because it is closed', async (t) => {
  const left = peerWith(100_000);
  const wait = waiting(left.peer);
  left.outbox.questions[0].answer(false);
  await wait.done;
  const closing = peerWith(100_000);
  const second = waiting(closing.peer);
  closing.close();
  await over(second);
  await closing.peer.waitForDrain();
  t.is(closing.outbox.questions.length, 1);
});

test('it rejects with the reason of a signal, and with the error of a question that cannot be asked', async (t) => {
  const { peer, outbox } = peerWith(100_000);
  const abort = new AbortController();
  const wait = waiting(peer, { signal: abort.signal });
  abort.abort(new Error('enough'));
  await t.throwsAsync(wait.done, { message: 'enough' });
  t.true(outbox.questions[0].signal.aborted);
  await t.throwsAsync(peer.waitForDrain({ signal: abort.signal }), { message: 'enough' });
  const failing = waiting(peer);
  outbox.questions[1].fail(new Error('too many'));
  await t.throwsAsync(failing.done, { message: 'too many' });
});
