/** A worker of the application's own that uses the package as the page does. */
import * as residua from 'residua';
import { use } from './use.js';

use(residua).then(postMessage, (error) => postMessage(String(error)));
