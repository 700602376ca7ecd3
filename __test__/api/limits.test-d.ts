// Compiled, never run: a listener has the limits of its protocol and those of every listener.
import {
  type AnswerLimits,
  type FileLimits,
  type GatewayLimits,
  type HttpLimits,
  type Limits,
  type Listener,
  type ListenerLimits,
  type ListenerOptions,
  type RespLimits,
  start,
  // biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
} from '../../js/dist/index.mjs';

const common: ListenerLimits = { messageBytes: 1024, subscriptionsPerSocket: 1 };
const ofHttp: HttpLimits & FileLimits & AnswerLimits = { bodyBytes: 1, staticCheckMs: 0, answerTimeoutMs: 1 };
const ofResp: RespLimits = { keysBytes: 1 };
const ofGateway: GatewayLimits = { outboxBytes: 1 };
const everything: Limits = { ...common, ...ofHttp, ...ofResp, ...ofGateway };
const anyListener: ListenerOptions = { address: ':1', limits: common };
const limited: Listener[] = [
  { address: ':1', limits: { ...common, ...ofHttp } },
  { address: ':2', protocol: 'http', limits: { bodyBytes: 1, staticCheckMs: 0, answerTimeoutMs: 1, idleTimeoutMs: 1 } },
  { address: ':3', protocol: 'resp', limits: { keysBytes: 1, subscriptionsPerSocket: 1, idleTimeoutMs: 1 } },
  { address: ':4', protocol: 'tcp', framing: 'none', limits: { idleTimeoutMs: 1 } },
  anyListener,
];
for (const { limits } of limited) void limits?.messageBytes;
void (() => start({ bind: limited, limits: everything }));

// @ts-expect-error a limit of the other protocol
const ofOther: Listener = { address: ':1', protocol: 'resp', limits: { bodyBytes: 5 } };
// @ts-expect-error a limit of files, beside one of every listener
const ofFiles: Listener = { address: ':1', protocol: 'resp', limits: { messageBytes: 5, staticCheckMs: 5 } };
// @ts-expect-error a limit of RESP, where HTTP is spoken
const ofNamedHttp: Listener = { address: ':1', protocol: 'http', limits: { keysBytes: 5 } };
// @ts-expect-error a limit of RESP, where HTTP is the default
const ofDefault: Listener = { address: ':1', limits: { keysBytes: 5 } };
// @ts-expect-error a limit of HTTP, where the protocol has none of its own
const ofNone: Listener = { address: ':1', protocol: 'tcp', framing: 'none', limits: { bodyBytes: 5 } };
// @ts-expect-error a limit of the gateway
const ofTheGateway: Listener = { address: ':1', limits: { outboxBytes: 5 } };
// @ts-expect-error no such limit
const ofNobody: Listener = { address: ':1', protocol: 'tcp', framing: 'none', limits: { nothing: 5 } };
// @ts-expect-error a limit of RESP, of which not every listener has one
const notCommon: ListenerLimits = { keysBytes: 5 };
void [ofOther, ofFiles, ofNamedHttp, ofDefault, ofNone, ofTheGateway, ofNobody, notCommon];
void (() => {
  // @ts-expect-error a limit of the other protocol
  return start({ bind: [{ address: ':1', protocol: 'resp', limits: { bodyBytes: 5 } }] });
});
