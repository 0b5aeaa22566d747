/** The script of the worker that `residua/worker` starts. */

import type { Port } from './remote/connection.js';
import { serve } from './remote/server.js';

serve(globalThis as unknown as Port);
