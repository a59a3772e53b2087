"""Model classes that lmms-eval finds through the entry point."""
