"""Hands one event to many subscribers; those that fall behind are told and never delay the others."""
