"""Accounts and logins, holds on pairs under review, and agreement between curators."""
