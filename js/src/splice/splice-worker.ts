/** Splice in a worker: asks the module's handler whether a client gets the target that it asks for. Has no state. */

import type { ProtocolEvent, ProtocolHost, ProtocolWorker } from '../protocols/protocol.js';
import type { SpliceAnswer } from '../protocols/splice-listener.js';
import { EVENT_SPLICE_CONNECT, OPERATION_SPLICE_ANSWER } from '../worker/kinds.generated.js';

/** Makes the code that handles the events of splice in a thread. */
export function spliceWorker(host: ProtocolHost): ProtocolWorker {
  return {
    events: { [EVENT_SPLICE_CONNECT]: (event) => connect(host, event) },
    closed: () => undefined,
  };
}

function connect({ module, worker }: ProtocolHost, event: ProtocolEvent): unknown {
  const { socketId, token } = event;
  const [url = '', ...texts] = event.payload.toString().split('\0');
  const given = headersOf(texts);
  const fields = Buffer.alloc(FIELDS_BYTES);
  event.fields.copy(fields);
  const say = (verdict: number, wanted?: Buffer): void => {
    fields[VERDICT_AT] = verdict;
    worker.tell(socketId, OPERATION_SPLICE_ANSWER, fields, wanted);
  };
  const answered = (answer: SpliceAnswer): void => {
    if (answer === false) say(REFUSED);
    else if (typeof answer === 'string') say(REWRITTEN, Buffer.from(written(answer, given)));
    else if (typeof answer === 'object' && answer !== null) {
      say(REWRITTEN, Buffer.from(written(answer.url ?? url, answer.headers ?? given)));
    } else if (answer === true || answer === undefined || answer === null) say(ACCEPTED);
    else
      throw new TypeError(`handleSpliceConnect must return a boolean, a URL or { url, headers }, not ${typeof answer}`);
  };
  const failed = (error: unknown): never => {
    say(FAILED);
    throw error;
  };
  try {
    const answer = module.handleSpliceConnect?.(url, given, socketId, token);
    if (typeof (answer as Promise<SpliceAnswer> | undefined)?.then === 'function') {
      return Promise.resolve(answer).then(answered).catch(failed);
    }
    answered(answer as SpliceAnswer);
  } catch (error) {
    failed(error);
  }
  return undefined;
}

/** The headers by name in lower case. */
function headersOf(texts: string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < texts.length; at += 2)
    headers[(texts[at] as string).toLowerCase()] = texts[at + 1] as string;
  return headers;
}

/** An answer in the form of the native side, which refuses what a handshake cannot have. */
function written(url: unknown, headers: unknown): string {
  if (typeof url !== 'string') throw new TypeError('handleSpliceConnect: url must be a string');
  if (typeof headers !== 'object' || headers === null) {
    throw new TypeError('handleSpliceConnect: headers must be an object');
  }
  const texts = [url, ...Object.entries(headers).flat()];
  if (!texts.every((text) => typeof text === 'string' && !text.includes('\0'))) {
    throw new TypeError('handleSpliceConnect: url, names and values of headers must be strings without NUL');
  }
  return texts.join('\0');
}

/** The bytes of the call's number and the verdict. */
const FIELDS_BYTES = 9;
const VERDICT_AT = 8;

const REFUSED = 0;
const ACCEPTED = 1;
const REWRITTEN = 2;
const FAILED = 3;
