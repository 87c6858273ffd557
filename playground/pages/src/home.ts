// The first page: small pictures of the others.

import { start } from "./shell/shell";

start();
