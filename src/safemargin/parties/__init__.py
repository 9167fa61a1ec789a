"""What every party that serves others needs, whether it adds answers up or runs an election.

Signatures and certificates, private databases and locks, a queue of messages that are stored together, and a server.
"""
