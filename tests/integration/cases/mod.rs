//! Faults that rate limiters have had in the field, as inputs with the only right outcome. Each test carries the
//! number its case has in the project's list.

mod changed_limits;
mod clock;
mod costs;
mod edges;
mod expiry;
mod hostile;
mod load;
mod precision;
mod refill;
mod surroundings;
mod waits;
