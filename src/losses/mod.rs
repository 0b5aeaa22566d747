//! Robust losses, as graphs, so that both engines get them from one definition.
