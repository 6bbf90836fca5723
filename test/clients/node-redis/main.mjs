// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

import { createClient, createSentinel } from "redis";
import { quiet, run } from "../ledger.mjs";

await run(async (task, tls) => {
  const socket = tls && { tls: true, ...tls };
  const client = task.addr
    ? createClient({ socket: { ...task.addr, ...socket }, username: task.user, password: task.password })
    : createSentinel({
        name: task.name,
        sentinelRootNodes: task.sentinels,
        nodeClientOptions: { username: task.user, password: task.password, socket },
        sentinelClientOptions: { username: task.sentinelUser, password: task.sentinelPassword, socket },
      });
  await quiet(client).connect();
  return {
    set: (key, value) => client.set(key, value),
    get: (keys) => client.mGet(keys),
    close: () => client.destroy(),
  };
});
