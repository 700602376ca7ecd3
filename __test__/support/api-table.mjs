// Invalid arguments for every function: [function, arguments, the name that the TypeError must contain].
const bytesLike = [null, undefined, 5, true, {}, 10n, Symbol('x'), () => {}, [], new SharedArrayBuffer(2)];
const notTargets = [
  null,
  undefined,
  true,
  {},
  10n,
  Symbol('x'),
  () => {},
  new SharedArrayBuffer(2),
  [null],
  [{}],
  [[1]],
  [1.5],
  [-1],
];
const notIds = [
  null,
  undefined,
  '1',
  true,
  {},
  10n,
  -1,
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  Symbol('x'),
  [1],
];
const notDeltas = [null, '1', true, {}, 1n, 1.5, Number.NaN, Number.POSITIVE_INFINITY, Symbol('x')];
const badIdTargets = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53];

const isObject = (value) => typeof value === 'object' && value !== null;

export const WRONG = [
  ...notTargets.map((value) => ['send', [value, 'data'], 'target']),
  ...badIdTargets.map((value) => ['send', [value, 'data'], 'target']),
  ...bytesLike.map((value) => ['send', [1, value], 'data']),
  ...[null, 5, 'x'].map((value) => ['send', [1, 'data', value], 'options']),
  ...[null, '1', 1.5, -1, {}, ['1'], [null]].map((value) => ['send', [1, 'data', { except: value }], 'except']),
  ...notTargets.map((value) => ['subscribe', [value, 'channel'], 'who']),
  ...badIdTargets.map((value) => ['subscribe', [value, 'channel'], 'who']),
  ...bytesLike.map((value) => ['subscribe', [1, value], 'channel']),
  // an object has options, and its problems are rejections
  ...notDeltas.filter((value) => !isObject(value)).map((value) => ['subscribe', [1, 'channel', value], 'delta']),
  ...notTargets.map((value) => ['unsubscribe', [value, 'channel'], 'who']),
  ...bytesLike.map((value) => ['unsubscribe', [1, value], 'channel']),
  ...notDeltas.map((value) => ['unsubscribe', [1, 'channel', value], 'delta']),
  ...bytesLike.map((value) => ['copySubscriptions', [value, 'to'], 'from']),
  ...bytesLike.map((value) => ['copySubscriptions', ['from', value], 'to']),
  ...bytesLike.map((value) => ['hasSubscriptions', [value], 'channel']),
  ...notIds.map((value) => ['outboxBytes', [value], 'socketId']),
  ...notIds.map((value) => ['setToken', [value, 'token'], 'socketId']),
  ...notIds.map((value) => ['createVirtualSocket', [value], 'socketId']),
  ...notIds.map((value) => ['deleteVirtualSocket', [value], 'id']),
  ...notIds.map((value) => ['close', [value], 'socketId']),
  ...notIds.map((value) => ['terminate', [value], 'socketId']),
  ...notIds.map((value) => ['ping', [value], 'socketId']),
  ...bytesLike.filter((value) => value !== undefined).map((value) => ['ping', [1, value], 'data']),
  ...[null, 'x', 5, {}, Symbol('x')].map((value) => ['getDebugState', [value], 'mode']),
];
