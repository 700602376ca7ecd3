/** The request to all nodes of the backplane, and the wait for their answers. */

import type { NativeGateway } from '../addon/native-interface.js';
import type { ClusterInfo } from './cluster-info.js';
import type { Name } from './target.js';

/** Asks all nodes and waits for their answers. The native side always answers after its deadline. */
export async function askCluster(native: NativeGateway, channels: Name[]): Promise<ClusterInfo> {
  const ticket = native.askCluster(channels);
  for (let ms = 1; ; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
    const info = native.clusterAnswer(ticket);
    if (info !== undefined) return info;
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
}

const LONGEST_PAUSE_MS = 16;
