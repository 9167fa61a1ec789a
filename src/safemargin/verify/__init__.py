"""Check certificates and manifests."""
