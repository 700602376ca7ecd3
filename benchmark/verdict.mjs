#!/usr/bin/env node
// Compares a run's results with the goals: node benchmark/verdict.mjs [folder of results] [file of goals]
import { join } from 'node:path';
import { benchmarkFolder } from './runner/build.mjs';
import { readGoals, readOutcomes, verdictLines } from './runner/verdict.mjs';

const [folder = join(benchmarkFolder, 'results/latest'), goals] = process.argv.slice(2);
console.log(verdictLines(readGoals(goals), readOutcomes(folder)).join('\n'));
