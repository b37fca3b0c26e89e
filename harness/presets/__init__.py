"""Bundled presets, one TOML file each."""
