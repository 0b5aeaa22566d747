/** The script of the worker that `residua/tensor/models/worker` starts. */

import type { Port } from './remote/connection.js';
import { serveTensors } from './tensor/remote/server.js';
import { ServedModels } from './tensor/remote/served-models.js';

serveTensors(globalThis as unknown as Port, ServedModels);
