/** The values that limits can have: the words of the two that are not numbers, and ranges of numbers. Types only. */

/** What happens to a socket whose outbox is full. */
export type OutboxPolicy = 'close' | 'dropNewest' | 'dropOldest';

/** What happens to publications while the queue to the backplane is full. */
export type BackplaneFull = 'wait' | 'drop';

/** The smallest and the largest value that a limit can have. */
export interface Range {
  least: number;
  most: number;
}
