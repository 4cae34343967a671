//! JSON text written straight from rows.
