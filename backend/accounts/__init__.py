"""Accounts and logins, claims on pairs under review, and agreement between curators."""
