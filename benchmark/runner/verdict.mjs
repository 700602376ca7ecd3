// Compares the figures of a run with the goals of benchmark/goals.json: which are missed, and by how much.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { benchmarkFolder } from './build.mjs';
import { show, table } from './cells.mjs';
import { scenarios } from './scenarios.mjs';

/** The goals of this repository. */
export function readGoals(path = join(benchmarkFolder, 'goals.json')) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/**
 * Every goal with what was measured: `{ title, peer, against, limit, before, measured, percent, state, worse }`. `state` is
 * `met`, `missed`, `failed` or `not measured`; `percent` is how far the figure is above its limit. `worse` is how many
 * percent it is above what it was before, where that is more than its windows differ by. Where the server without
 * `io_uring` was measured, it has a line of its own.
 */
export function judge({ goals, without_io_uring: factor }, outcomes) {
  return goals.flatMap((goal) => {
    const peer = goal.peer ?? 'millrace';
    const line = judgeOne(goal, outcomes, [peer, againstOf(goal)], goal.at_most);
    const plain = `${peer}-no-uring`;
    if (outcomeOf(goal.scenario, outcomes)?.peers?.[plain] === undefined) return [line];
    const against = againstOf(goal);
    // memory has nothing to do with it, and Millrace is compared with itself as it is
    const own = against === peer;
    const limit = against === undefined || own ? goal.at_most : goal.at_most * factor;
    return [line, judgeOne({ ...goal, before: undefined }, outcomes, [plain, own ? plain : against], limit)];
  });
}

const outcomeOf = (scenario, outcomes) => outcomes.find(({ name }) => name === scenario);

function judgeOne(goal, outcomes, [peer, against], limit) {
  const outcome = outcomeOf(goal.scenario, outcomes);
  const known = scenarios.find(({ name }) => name === goal.scenario);
  const field = goal.figure ?? known?.columns[0][0] ?? 'cpu_us';
  const unit = known?.columns.find(([name]) => name === field)?.[1] ?? field.replaceAll('_', ' ');
  const title = `${outcome?.title ?? goal.scenario}: ${unit}`;
  const other = against && (goal.against_scenario ? `${against} in ${goal.against_scenario}` : against);
  const { before, firm = false } = goal;
  const line = { scenario: goal.scenario, title, peer, against: other, limit, before, firm };
  const ours = outcome?.peers?.[peer];
  const theirs = outcomeOf(goal.against_scenario ?? goal.scenario, outcomes)?.peers?.[against];
  const results = against === undefined ? [ours] : [ours, theirs];
  if (results.some((result) => result?.error !== undefined)) return { ...line, state: 'failed' };
  const measured = figureOf(results, field);
  if (!Number.isFinite(measured)) return { ...line, state: 'not measured' };
  const percent = (measured / limit - 1) * 100;
  const worse = before === undefined ? undefined : worseBy(results, outcome.peers.before, field, before);
  return { ...line, measured, percent, state: percent > 0 ? 'missed' : 'met', worse };
}

/** The peer that a figure is divided by; undefined where the figure itself has a limit. */
function againstOf({ against }) {
  return against === null ? undefined : (against ?? 'bun');
}

/** The figure of one server, or that of the first divided by that of the second. */
function figureOf(results, field) {
  const [ours, theirs] = results.map((result) => result?.figures?.[field]);
  return results.length === 1 ? ours : ours / theirs;
}

/**
 * By how many percent a figure is worse than before: than that of the peer `before`, which took turns with it, or else than
 * the goal says. Undefined: it is not worse, or by no more than half of what its windows differ by.
 */
function worseBy(results, old, field, before) {
  const isBeside = Number.isFinite(old?.figures?.[field]) && old.error === undefined;
  const [compared, base] = isBeside ? [[results[0], old], 1] : [results, before];
  const figure = figureOf(compared, field);
  if (figure - spreadOf(compared, field) <= base) return undefined;
  return (figure / base - 1) * 100;
}

/** Half of what the windows of a figure differ by: servers that take turns are compared window by window. */
function spreadOf(results, field) {
  const [ours, theirs] = results.map((result) => result.windows ?? []);
  const figures = ours.map((window, at) => window[field] / (theirs === undefined ? 1 : theirs[at]?.[field]));
  const found = figures.filter(Number.isFinite);
  return found.length === 0 ? 0 : (Math.max(...found) - Math.min(...found)) / 2;
}

/** The table of a verdict in Markdown, and a sentence. */
export function verdictLines(goals, outcomes) {
  const lines = judge(goals, outcomes);
  const shown = lines.filter(({ state }) => state !== 'not measured');
  if (shown.length === 0) return [];
  const rows = shown.map(({ title, peer, against, limit, before, measured, percent, state, worse }) => [
    title,
    against === undefined ? peer : `${peer} / ${against}`,
    show(before),
    show(limit),
    show(measured),
    `${state === 'missed' ? `missed by ${amount(percent)}` : state}${worse === undefined ? '' : `, worse by ${amount(worse)}`}`,
  ]);
  const absent = [...new Set(lines.filter((line) => !shown.includes(line)).map(({ scenario }) => scenario))];
  return [
    ...table(['goal', 'figure of', 'before', 'at most', 'measured', 'verdict'], rows),
    summary(goals, lines),
    '',
    noneWorse([...lines.filter(({ before }) => before !== undefined), ...besideGoals(goals, outcomes)]),
    ...(absent.length > 0 ? ['', `Not measured: ${absent.join(', ')}.`] : []),
    '',
  ];
}

/** What was met and missed, and whether so much may be. */
export function summary({ may_be_missed: allowed }, lines) {
  const count = (state) => lines.filter((line) => line.state === state).length;
  const missed = lines.filter(({ state }) => state === 'missed');
  const far = missed.filter(({ percent, firm }) => firm || percent > allowed.percent);
  const words = [`${count('met')} of ${lines.length} goals met, ${missed.length} missed`];
  if (far.length > 0) words.push(`${far.length} of these by more than allowed`);
  if (count('failed') > 0) words.push(`${count('failed')} failed`);
  if (count('not measured') > 0) words.push(`${count('not measured')} not measured`);
  const rule =
    `At most ${allowed.figures} may be missed, by at most ${allowed.percent} %, ` +
    'and never that of memory per idle connection.';
  return `${words.join(', ')}. ${rule}`;
}

/** The figures of the overview that no goal compares with before, where the peer `before` took part. Rates are left out. */
function besideGoals({ goals }, outcomes) {
  const compared = goals.filter(({ before }) => before !== undefined).map(({ scenario }) => scenario);
  return outcomes.flatMap(({ name, title, peers: { millrace, before } = {} }) => {
    if (!before || before.error || !millrace || millrace.error) return [];
    const { columns = [], figures, half } = scenarios.find((scenario) => scenario.name === name) ?? {};
    const shown = (half ? undefined : figures) ?? columns.slice(0, 1);
    const others = shown.filter(([field], at) => field !== 'per_second' && (at > 0 || !compared.includes(name)));
    return others.map(([field, unit]) => ({
      title: `${title}: ${unit}`,
      measured: millrace.figures?.[field],
      worse: worseBy([millrace], before, field, Number.POSITIVE_INFINITY),
    }));
  });
}

/** Whether a row is worse than before, which none may be. */
export function noneWorse(lines) {
  const compared = lines.filter(({ measured }) => Number.isFinite(measured));
  const worse = compared.filter((line) => line.worse !== undefined);
  const names = worse.map((line) => `${line.title} (${amount(line.worse)})`);
  const which =
    worse.length === 0 ? 'none is' : `${worse.length} ${worse.length === 1 ? 'is' : 'are'}: ${names.join('; ')}`;
  return (
    `No row may be worse than before. Of ${compared.length} that can be compared, ${which}. ` +
    'A row is worse if it is above by more than half of what its windows differ by.'
  );
}

function amount(percent) {
  return `${percent < 10 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}

/** The study as an outcome among the others: CPU per request on one core. */
export function outcomeOfStudy(json) {
  const found = json?.sections?.['one-core'];
  if (!Array.isArray(found)) return [];
  const names = { 'millrace-1': 'millrace', 'millrace-1-no-uring': 'millrace-no-uring' };
  const peers = found.map(({ name, median, runs }) => [names[name] ?? name, { figures: median, windows: runs }]);
  return [{ name: 'study', title: 'SHA-256 of each message, 1,000 connections × 1', peers: Object.fromEntries(peers) }];
}

/** The outcomes in a folder of results, under today's names. */
export function readOutcomes(folder) {
  const { scenarios: found, study } = JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8'));
  const outcomes = found.map(({ name, peers, ...rest }) => {
    const renamed = Object.entries(peers).map(([peer, result]) => [peer === 'floor' ? 'epoll' : peer, result]);
    // until 23 November 2026 this was the name of the row with 16 outstanding
    const old = name === 'echo-16k' && rest.title.includes('× 16');
    return { ...rest, name: old ? 'echo-16k-16' : name, peers: Object.fromEntries(renamed) };
  });
  return [...outcomes, ...outcomeOfStudy(study)];
}
