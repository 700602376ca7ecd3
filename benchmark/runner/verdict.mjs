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
 * Every goal with what was measured: `{ title, peer, against, limit, before, measured, percent, state }`. `state` is
 * `met`, `missed`, `failed` or `not measured`; `percent` is how far the figure is above its limit. Where the server
 * without `io_uring` was measured, it has a line of its own.
 */
export function judge({ goals, without_io_uring: factor }, outcomes) {
  return goals.flatMap((goal) => {
    const outcome = outcomes.find(({ name }) => name === goal.scenario);
    const peer = goal.peer ?? 'millrace';
    const line = judgeOne(goal, outcome, peer, goal.at_most);
    const plain = `${peer}-no-uring`;
    if (outcome?.peers?.[plain] === undefined) return [line];
    // memory has nothing to do with it
    const limit = againstOf(goal) === undefined ? goal.at_most : goal.at_most * factor;
    return [line, { ...judgeOne(goal, outcome, plain, limit), before: undefined }];
  });
}

function judgeOne(goal, outcome, peer, limit) {
  const known = scenarios.find(({ name }) => name === goal.scenario);
  const field = goal.figure ?? known?.columns[0][0] ?? 'cpu_us';
  const against = againstOf(goal);
  const unit = known?.columns.find(([name]) => name === field)?.[1] ?? field.replaceAll('_', ' ');
  const title = `${outcome?.title ?? goal.scenario}: ${unit}`;
  const line = { scenario: goal.scenario, title, peer, against, limit, before: goal.before, firm: goal.firm === true };
  const results = [peer, ...(against === undefined ? [] : [against])].map((name) => outcome?.peers?.[name]);
  if (results.some((result) => result?.error !== undefined)) return { ...line, state: 'failed' };
  const [ours, theirs] = results.map((result) => result?.figures?.[field]);
  const measured = against === undefined ? ours : ours / theirs;
  if (!Number.isFinite(measured)) return { ...line, state: 'not measured' };
  const percent = (measured / limit - 1) * 100;
  return { ...line, measured, percent, state: percent > 0 ? 'missed' : 'met' };
}

/** The peer that a figure is divided by; undefined where the figure itself has a limit. */
function againstOf({ against }) {
  return against === null ? undefined : (against ?? 'bun');
}

/** The table of a verdict in Markdown, and a sentence. */
export function verdictLines(goals, outcomes) {
  const lines = judge(goals, outcomes);
  const shown = lines.filter(({ state }) => state !== 'not measured');
  if (shown.length === 0) return [];
  const rows = shown.map(({ title, peer, against, limit, before, measured, percent, state }) => [
    title,
    against === undefined ? peer : `${peer} / ${against}`,
    show(before),
    show(limit),
    show(measured),
    state === 'missed' ? `missed by ${percent < 10 ? percent.toFixed(1) : percent.toFixed(0)} %` : state,
  ]);
  const absent = [...new Set(lines.filter((line) => !shown.includes(line)).map(({ scenario }) => scenario))];
  return [
    ...table(['goal', 'figure of', 'before', 'at most', 'measured', 'verdict'], rows),
    summary(goals, lines),
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

/** The study as an outcome among the others: CPU per request on one core. */
export function outcomeOfStudy(json) {
  const found = json?.sections?.['one-core'];
  if (!Array.isArray(found)) return [];
  const names = { 'millrace-1': 'millrace', 'millrace-1-no-uring': 'millrace-no-uring' };
  const peers = found.map(({ name, median }) => [names[name] ?? name, { figures: median }]);
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
