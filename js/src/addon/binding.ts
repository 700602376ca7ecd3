/** Loads the native addon once per thread, and checks that it is of this package's version and build. */

import { MillraceError } from '../errors.js';
import { openAddon, VERSION } from './addon.js';
import type { Binding, NativeGateway, NativeSockets, NativeWorker } from './native-interface.js';
import { addonOfThread, collectsLate, hasState, isOfThisThread, libuvVersion, losesWakeUps } from './runtime.js';

let loaded: Binding | undefined;

/**
 * Returns the addon, which is loaded once per thread.
 *
 * @throws {MillraceError} ERR_MILLRACE_BINDING_MISSING, ERR_MILLRACE_BINDING_MISMATCH, ERR_MILLRACE_BINDING_FOREIGN
 */
export function binding(): Binding {
  loaded ??= load();
  return loaded;
}

/**
 * Returns the functions of `millrace/sockets`. Undefined on platforms without them.
 *
 * @throws {MillraceError} as `binding`
 */
export function nativeSockets(): NativeSockets | undefined {
  const addon = binding();
  if (addon.sockets === undefined && process.platform !== 'win32') throw tooOld('function sockets');
  return addon.sockets?.();
}

function load(): Binding {
  const addon = addonOfThread(() => openAddon(isOfThisThread));
  if (addon.version !== VERSION) throw mismatch(`has version ${addon.version} but the package has version ${VERSION}`);
  if (!hasState(addon)) throw tooOld('state');
  for (const name of ['ringAgain', 'wakeByLibuv', 'weighBuffers', 'sharedGateway'] as const) {
    if (typeof addon[name] !== 'function') throw tooOld(`function ${name}`);
  }
  addon.setErrorClass(MillraceError);
  if (losesWakeUps()) addon.ringAgain();
  const libuv = libuvVersion();
  if (libuv !== undefined) addon.wakeByLibuv(libuv);
  if (collectsLate()) addon.weighBuffers();
  return Object.assign(Object.create(addon) as Binding, {
    createGateway: () => {
      const { id, gateway } = addon.createGateway();
      return { id, gateway: checked(gateway) };
    },
    sharedGateway: (name: string) => {
      const { id, gateway } = addon.sharedGateway(name);
      return { id, gateway: checked(gateway) };
    },
    bind: (id: number) => checked(addon.bind(id)),
  });
}

/** The functions that a gateway of the addon must have. An addon of an earlier build may lack some. */
const GATEWAY: Record<keyof NativeGateway, 'function'> = {
  send: 'function',
  sendLong: 'function',
  sendUncompressed: 'function',
  reply: 'function',
  subscribe: 'function',
  unsubscribe: 'function',
  publish: 'function',
  subscribeAt: 'function',
  history: 'function',
  takePast: 'function',
  presence: 'function',
  presenceCount: 'function',
  setPresence: 'function',
  copySubscriptions: 'function',
  hasSubscriptions: 'function',
  outboxBytes: 'function',
  openAnswers: 'function',
  whenDrained: 'function',
  callClient: 'function',
  takeResult: 'function',
  takeAnswers: 'function',
  forgetAnswer: 'function',
  beginStream: 'function',
  streamPart: 'function',
  endStream: 'function',
  createVirtualSocket: 'function',
  deleteVirtualSocket: 'function',
  setToken: 'function',
  token: 'function',
  getKey: 'function',
  setKey: 'function',
  setKeyIf: 'function',
  close: 'function',
  terminate: 'function',
  ping: 'function',
  openLog: 'function',
  takeLog: 'function',
  start: 'function',
  isRunning: 'function',
  listen: 'function',
  adopt: 'function',
  dial: 'function',
  reloadTls: 'function',
  stopListeners: 'function',
  hastenStop: 'function',
  stopAccepting: 'function',
  setHeld: 'function',
  shutdown: 'function',
  takeNotices: 'function',
  suspendLiveness: 'function',
  ended: 'function',
  addWorker: 'function',
  debugState: 'function',
  stats: 'function',
  countError: 'function',
  askCluster: 'function',
  clusterAnswer: 'function',
};

/** The members that a worker of the addon must have. */
const WORKER: Record<keyof NativeWorker, 'function' | 'number' | 'object'> = {
  id: 'number',
  tokenWords: 'object',
  exchange: 'object',
  replyList: 'object',
  activate: 'function',
  leave: 'function',
  connections: 'function',
  retire: 'function',
  hold: 'function',
  release: 'function',
  claimClose: 'function',
  acceptOpen: 'function',
  acceptWith: 'function',
  refuseOpen: 'function',
  respond: 'function',
  beginAnswer: 'function',
  writeAnswer: 'function',
  writeMessage: 'function',
  endAnswer: 'function',
  wantRoom: 'function',
  pull: 'function',
  requests: 'function',
  tell: 'function',
  tellMany: 'function',
  keepBytes: 'function',
  forgetBytes: 'function',
  tellShared: 'function',
  guardFile: 'function',
  releaseFile: 'function',
  rebatch: 'function',
  drainNow: 'function',
  isIdle: 'function',
  forward: 'function',
  wake: 'function',
  observe: 'function',
};

/**
 * Checks what the addon returns. In a clone, an addon that was built before the JavaScript has the right version but
 * not the right functions.
 */
function checked(gateway: NativeGateway): NativeGateway {
  checkAge(gateway, GATEWAY);
  const { addWorker } = gateway;
  gateway.addWorker = (handlers, drain) => {
    const worker = addWorker(handlers, drain);
    checkAge(worker, WORKER);
    return worker;
  };
  return gateway;
}

/** @throws {MillraceError} ERR_MILLRACE_BINDING_MISMATCH if an object of the addon lacks a member */
function checkAge<T extends object>(made: T, parts: Record<keyof T & string, string>): void {
  const names = Object.keys(parts) as (keyof T & string)[];
  const missing = names.find((name) => typeof made[name] !== parts[name]);
  if (missing !== undefined) throw tooOld(parts[missing] === 'function' ? `function ${missing}` : missing);
}

function tooOld(lacks: string): MillraceError {
  return mismatch(`is older than the JavaScript: it has no ${lacks}`);
}

function mismatch(what: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_BINDING_MISMATCH',
    `the native addon ${what}: install the package again, or in a clone of the repository build it: npm run build`,
  );
}
