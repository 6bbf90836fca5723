// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

import { Redis } from "iovalkey";
import { keeper } from "../keeper.mjs";
import { run } from "../ledger.mjs";

await run((task, tls) => keeper(Redis, task, tls));
