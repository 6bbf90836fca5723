// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

import { GlideClient, Logger } from "@valkey/valkey-glide";
import { run } from "../ledger.mjs";

Logger.init("off"); // it would speak on standard output

await run(async (task, tls) => {
  if (!task.addr) throw new Error("valkey-glide cannot ask Sentinels: give it an address");
  const client = await GlideClient.createClient({
    addresses: [task.addr],
    credentials: task.password ? { username: task.user, password: task.password } : undefined,
    requestTimeout: task.timeoutMillis,
    useTLS: Boolean(tls),
    advancedConfiguration: tls && { tlsAdvancedConfiguration: { rootCertificates: tls.ca } },
  });
  return {
    set: (key, value) => client.set(key, value),
    get: (keys) => client.mget(keys),
    close: () => client.close(),
  };
});
