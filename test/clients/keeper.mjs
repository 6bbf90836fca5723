// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

import { quiet } from "./ledger.mjs";

// keeper is a client of ioredis, or of iovalkey, which has the same interface.
export function keeper(Redis, task, tls) {
  const where = task.addr
    ? { ...task.addr, tls }
    : {
        name: task.name,
        role: "master",
        sentinels: task.sentinels,
        sentinelUsername: task.sentinelUser,
        sentinelPassword: task.sentinelPassword,
        tls,
        sentinelTLS: tls,
        enableTLSForSentinelMode: Boolean(tls),
      };
  // Without these the library waits for ever for a server, or a Sentinel, that does not answer.
  const patience = { connectTimeout: task.timeoutMillis, commandTimeout: task.timeoutMillis, sentinelCommandTimeout: task.timeoutMillis };
  // iovalkey tries IPv6 after a connection was lost, and finds no Sentinel any more where there is none; ioredis does not know the setting.
  const family = { familyFallback: { enabled: false } };
  const client = quiet(new Redis({ ...where, ...patience, ...family, username: task.user, password: task.password }));
  return {
    set: (key, value) => client.set(key, value),
    get: (keys) => client.mget(keys),
    close: () => client.disconnect(),
  };
}
