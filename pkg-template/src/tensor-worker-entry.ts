/** The script of the worker that `residua/tensor/worker` starts. */

import type { Port } from './remote/connection.js';
import { serveTensors } from './tensor/remote/server.js';

serveTensors(globalThis as unknown as Port);
