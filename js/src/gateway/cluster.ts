/** What all nodes know together, and the wait for their answers. */

import type { NativeGateway } from '../addon/binding.js';
import type { Name } from './target.js';

/** All nodes, as they answered. */
export interface ClusterInfo {
  /** The nodes that are alive, this one first. */
  nodes: ClusterNode[];
  /** Of each channel that was asked for, in the same order: its subscribers on all nodes, those of patterns not counted. */
  subscribers: number[];
  /** Whether every node that was known has answered in time. False where there is no link to the others at the moment. */
  isComplete: boolean;
}

/** One node. */
export interface ClusterNode {
  /** Of no other node of the backplane, and a new one with each start; `'0000000000000000'` without a backplane. */
  id: string;
  /** Whether it is the one that asks. */
  isSelf: boolean;
  /** Real sockets open there. */
  sockets: number;
  /** Channels with a subscription there. */
  channels: number;
  /** Subscriptions there. */
  subscriptions: number;
}

/** Asks all nodes and waits for the answer; the native side sees to it that one comes. */
export async function askCluster(native: NativeGateway, channels: Name[]): Promise<ClusterInfo> {
  const ticket = native.askCluster(channels);
  for (let ms = 1; ; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
    const info = native.clusterAnswer(ticket);
    if (info !== undefined) return info;
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
}

const LONGEST_PAUSE_MS = 16;
