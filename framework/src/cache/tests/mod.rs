//! What the cache promises, over a server with a history and faults.
